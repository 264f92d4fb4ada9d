// Has the agents of a service profile one of its endpoints, and leads to what comes of it.
import { html, useState } from '../frame/view.js';
import { postJson } from '../frame/api.js';
import { Icon } from '../parts/icons.js';
import { go, link } from '../frame/route.js';

export function ProfileButton({ service, endpoint, text = 'Profile this endpoint' }) {
  const [state, setState] = useState({ busy: false, error: null });
  const order = async () => {
    setState({ busy: true, error: null });
    try {
      const task = await postJson('profiles', { service, endpoint });
      go(link(['profiles', task.id]));
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  const { busy, error } = state;
  return html`
    <span class="profile-button">
      <button
        type="button"
        class="toggle small"
        disabled=${busy}
        onClick=${order}
        aria-label=${`${text}: ${endpoint}`}
        title="See where its next requests spend their time: 5 requests, within 60 s"
      >
        <${Icon} name="profiles" size=${13} />
        ${text}
      </button>
      ${
        error &&
        html`
          <span class="profile-refused" role="alert">
            ${error.message}${' '}
            ${
              error.body?.task &&
              html`
                <a href=${link(['profiles', error.body.task])}>See that one</a>
              `
            }
          </span>
        `
      }
    </span>
  `;
}

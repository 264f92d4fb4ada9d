// Before anything has arrived: how to make something arrive.
import { html } from './view.js';
import { Copy } from '../parts/parts.js';

export function Welcome({ status }) {
  const { hostname } = location;
  const port = text =>
    String(text ?? '')
      .split(':')
      .pop();
  const grpc = `${hostname}:${port(status.grpc)}`;
  const lines = [
    "pip install 'swagent[grpc]'",
    `SW_AGENT_NAME=my-service SW_AGENT_COLLECTOR_BACKEND_SERVICES=${grpc} swagent run -- python -m uvicorn app:app`,
  ];
  return html`
    <section class="welcome" aria-labelledby="welcome-title">
      <div class="welcome-mark" aria-hidden="true">
        <i></i>
        <i></i>
        <i></i>
      </div>
      <h1 id="welcome-title">Nothing has arrived yet</h1>
      <p>Point an application at this collector, send it a request, and its trace appears here by itself.</p>
      ${lines.map(
        line => html`
          <div class="command">
            <code>${line}</code>
            <${Copy} text=${line} label="the command" />
          </div>
        `,
      )}
      <p class="quiet">
        Any SkyWalking agent may report here: gRPC at <code>${grpc}</code>, HTTP at${' '}
        <code>${hostname}:${port(status.http)}</code>
        ${
          status.kafka
            ? html`
                , and over Kafka from <code>${status.kafka}</code>
              `
            : ''
        }.
      </p>
    </section>
  `;
}

// Calls functions of the page's modules, one line of JSON after the other: {module, name, given, then} in, {found} out.
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const folder = `${pathToFileURL(process.argv[2])}/`;
const load = module => import(new URL(`${module}.js`, folder).href);
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;

for await (const line of createInterface({ input: process.stdin })) {
  const { module, name, given, then } = JSON.parse(line);
  let answer;
  try {
    const all = await load(module);
    const found = all[name](...given);
    // `then` is an expression of the test: it picks from the result what JSON can carry
    answer = { found: await new AsyncFunction('all', 'found', 'load', `return ${then};`)(all, found, load) };
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { plugin } from '../harness/plugins.js';

const LOCATIONS = 30;

/** A module that writes a line into the log for each call of `compile`, with the URI of the location where it looks at it. */
function counting(name: string, look: string): string {
  return plugin(`acme_http_${name}_module`, {
    imports: `import { Log } from 'srv/module/log.js';`,
    manifest: `directives: { ${name}: directive({ in: ['http', 'server', 'location'], args: text(), doc: 'd' }) }`,
    body: `
      static services = [Log];
      constructor(log) { this.log = log; }
      compile(scope) {
        const looked = ${look};
        this.log.write('error', '${name} compiles ' + scope.kind + ' ' + looked);
        return scope.conf.${name} === 'on' ? { rewrite: () => undefined } : undefined;
      }`,
  });
}

const files = {
  'modules/acme_http_values_module.mjs': counting('values', `scope.conf.values`),
  'modules/acme_http_lines_module.mjs': counting('lines', `scope.directive?.args[0]?.text`),
  'modules/acme_http_others_module.mjs': counting('others', `scope.own('add_header') + ' ' + scope.lines('add_header').length`),
  'modules/acme_http_held_module.mjs': counting('held', `scope.register({}) ?? 'held'`),
};

async function calls(t: ExecutionContext, http: string, locations: string): Promise<Record<string, string[]>> {
  const many = Array.from({ length: LOCATIONS }, (_, at) => `location /l${at} { return 200; }`).join(' ');
  const load = Object.keys(files).map((file) => `load_module ${file};`);
  const conf = `${load.join(' ')} error_log logs/error.log; events {} http { ${http} server { listen 127.0.0.1:1; ${many} ${locations} } }`;
  const result = await check(t, conf, files);
  t.is(result.code, 0, result.stderr);
  const found = [...result.log().matchAll(/(\w+) compiles location (.*)/g)].map(([, name = '', text = '']) => [name, text] as const);
  return Object.fromEntries(
    ['values', 'lines', 'others', 'held'].map((name) => [name, found.flatMap(([by, text]) => (by === name ? [text] : []))]),
  );
}

test('a module that makes nothing of inherited values is called for one location of a server, and for those with its directives', async (t) => {
  const { values, others } = await calls(
    t,
    'values http;',
    'location /own { values own; } location /on { values on; } location /with { add_header X a; }',
  );
  t.deepEqual(values, ['http', 'own', 'on']);
  // It has asked for a directive that one of them has.
  t.deepEqual(others, ['false 0', 'true 1']);
});

test('a module that looks at the line of the location, holds something or makes handlers is called for each location', async (t) => {
  const { lines, held, values } = await calls(t, 'values on;', '');
  t.deepEqual(
    lines,
    Array.from({ length: LOCATIONS }, (_, at) => `/l${at}`),
  );
  t.is(held?.length, LOCATIONS);
  t.is(values?.length, LOCATIONS);
});

/** A block that a module declares with its directives: checked by `-t`, typed and defaulted like those of any scope. */
import test from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';

const GREETING = plugin('acme', {
  imports: `import { number, param } from 'srv/module/args.js';
    const inside = {
      word: directive({ in: ['greeting'], args: text(), default: 'hello' }),
      times: directive({ in: ['greeting'], args: number({ min: 1, max: 9 }), default: '1' }),
      name: directive({ in: ['greeting'], args: text(), many: true }),
    };`,
  manifest: `directives: {
      greeting: directive({
        in: ['location'],
        args: { end: param('end', text(), '.') },
        block: { context: 'greeting', directives: inside },
      }),
    }`,
  body: `compile({ conf }) {
      const { greeting } = conf;
      if (!greeting) return undefined;
      const { word, times, name } = greeting.block;
      return { content: (request) => request.send(200, Array(times).fill(word).concat(name).join(' ') + greeting.end) };
    }`,
});
const files = { 'modules/acme.mjs': GREETING };
const conf = (locations: string): string =>
  `load_module modules/acme.mjs; events {} http { server { listen 127.0.0.1:%%PORT_web%%; ${locations} } }`;

test('its directives have their values and their defaults', async (t) => {
  const locations = 'location /a { greeting { } } location /b { greeting end=! { word hi; times 2; name you; name me; } }';
  const srv = await startSrv(t, conf(locations), { files });
  t.is((await get(srv.port('web'), '/a')).body, 'hello.');
  t.is((await get(srv.port('web'), '/b')).body, 'hi hi you me!');
});

test('its directives are checked, and are not allowed elsewhere', async (t) => {
  const { code, stderr } = await check(t, conf('location / { greeting { times 10; wrod x; word a; word b; } word c; }'), files);
  t.is(code, 1);
  t.deepEqual(
    [...stderr.matchAll(/^srv: \[emerg\] (.*?) in /gm)].map(([, text]) => text),
    ['value must be between 1 and 9', 'unknown directive "wrod"', '"word" directive is duplicate', '"word" directive is not allowed here'],
    stderr,
  );
  t.regex(stderr, /did you mean "word"\?/);
});

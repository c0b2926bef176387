/** Modules without TypeScript, decorators or a build. */
import test from 'ava';
import { get } from '../harness/client.js';
import { runSrv, startSrv } from '../harness/srv.js';
import { codeBlocks } from './readme.js';

function site(module: string, location: string): string {
  return `load_module ${module}; events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${location} } } }`;
}

test('the module of the README works as it is there', async (t) => {
  const [source = ''] = codeBlocks('Without TypeScript');
  // The `.so` of an nginx configuration finds the `.js`.
  const srv = await startSrv(t, site('modules/acme_http_powered_by_module.so', 'powered_by on; return 200 "hello";'), {
    files: { 'package.json': '{ "type": "module" }', 'modules/acme_http_powered_by_module.js': source },
  });
  const answer = await get(srv.port('web'), '/');
  t.is(answer.body, 'hello');
  t.is(answer.headers['x-powered-by'], 'srv');
});

test('its directives are checked like those of any module', async (t) => {
  const [source = ''] = codeBlocks('Without TypeScript');
  const files = { 'modules/acme_http_powered_by_module.mjs': source };
  const conf = 'load_module modules/acme_http_powered_by_module.mjs; http { powered_by on; server { powered_bi on; powered_by 1; } }';
  const { code, stderr } = await runSrv(t, ['-t'], conf, { files });
  t.is(code, 1);
  t.regex(stderr, /unknown directive "powered_bi"/);
  t.regex(stderr, /did you mean "powered_by"\?/);
  t.regex(stderr, /invalid value "1" in "powered_by" directive, it must be "on" or "off"/);
});

test('a class names the services it needs', async (t) => {
  const source = `
    import { Log } from 'srv/module/log.js';
    import { ServerInfo } from 'srv/module/server-info.js';
    import { httpModule } from 'srv/module/manifest.js';
    class Greeting {
      static services = [Log, ServerInfo];
      constructor(log, info) { this.log = log; this.info = info; }
      compile() {
        return { content: (request) => {
          this.log.write('error', 'greeting sent', request);
          return request.send(200, 'from ' + this.info.nodeName);
        } };
      }
    }
    httpModule({ name: 'acme_http_greeting_module', api: 1 })(Greeting);
    export { Greeting };`;
  const srv = await startSrv(t, `node_name here; ${site('modules/acme_http_greeting_module.mjs', '')}`, {
    files: { 'modules/acme_http_greeting_module.mjs': source },
  });
  t.is((await get(srv.port('web'), '/')).body, 'from here');
  await srv.waitForLog(/\[error\] .*greeting sent, client: 127\.0\.0\.1/);
});

/** Actions of a module that hang: the API works again, and the log names the module. */
import test from 'ava';
import { startSrv } from '../../testing/server.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { WAIT } from './hostile-module.js';

const MODULE = `
import { action, DATA_PLANE_ERRORS, route } from 'srv/module/control.js';
import { controlModule, coreModule } from 'srv/module/manifest.js';
import { Type } from 'srv/module/schema.js';
import { DataPlane } from 'srv/module/data-plane.js';
import { Transactions } from 'srv/module/transactions.js';

export class Hanging {
  static services = [Transactions];
  constructor(transactions) { this.transactions = transactions; }
  never() { return new Promise(() => {}); }
  build(params, context) { return this.transactions.apply(() => { ${WAIT} }, context); }
  fine() { return { fine: true }; }
}
coreModule({ name: 'acme_hanging_module', api: 1, plane: 'data' })(Hanging);
for (const name of ['never', 'build', 'fine']) action('acme.' + name)(Hanging.prototype, name, {});

export class HangingApi {
  static services = [DataPlane];
  constructor(plane) { this.plane = plane; }
  async run(call) { return { status: 200, body: await this.plane.call('acme.' + call.params.action, {}, call) }; }
}
controlModule({ name: 'acme_hanging_module', api: 1, key: 'acme' })(HangingApi);
const schemas = { summary: 'runs', responses: { 200: Type.Any() }, errors: [...DATA_PLANE_ERRORS] };
route('POST', '/:action', schemas)(HangingApi.prototype, 'run', {});
`;

test('calls of actions that hang get 503, and then the API works', async (t) => {
  const folder = tempFolder(t);
  writeInto(folder, 'acme_hanging_module.mjs', MODULE);
  const modules = [`${folder}/acme_hanging_module.mjs`];
  const srv = await startSrv({ modules, server: 'location / { return 200 "fine"; }', control: { modules } });
  t.teardown(() => srv.stop());
  const hanging = Promise.all(['never', 'build'].map((action) => srv.api('POST', `/v1/acme/${action}`)));
  t.deepEqual(
    (await hanging).map(({ status }) => status),
    [503, 503],
  );
  t.is((await srv.get('/')).body, 'fine');
  await waitFor('the API', async () => (await srv.api('POST', '/v1/acme/fine')).status === 200, 20_000);
  await srv.waitForLog(/action acme\.never of module "acme_hanging_module" failed, request_id: \S+: .*it did not finish within 10 s/);
  t.regex(srv.log(), /action acme\.build of module "acme_hanging_module" failed, request_id: \S+: .*it did not return within 10 s/);
  t.is((await srv.api('POST', '/v1/acme/fine')).status, 200);
});

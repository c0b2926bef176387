/** An action of a stranger that does something besides the configuration, and one that waits until the transaction is active. */
export const COUNTING = `
import { action, route } from 'srv/module/control.js';
import { controlModule, coreModule } from 'srv/module/manifest.js';
import { Type } from 'srv/module/schema.js';
import { DataPlane } from 'srv/module/data-plane.js';
import { Log } from 'srv/module/log.js';
import { Transactions } from 'srv/module/transactions.js';
const decorate = (decorator, target, name) => decorator(target.prototype, name, {});
export class Counting {
  static services = [Transactions, Log];
  constructor(transactions, log) { Object.assign(this, { transactions, log }); }
  count() { this.log.write('notice', 'counted at once'); return {}; }
  countLater({ name }) { this.transactions.whenInForce(() => this.log.write('notice', 'counted ' + name)); return {}; }
}
decorate(action('acme.count'), Counting, 'count');
decorate(action('acme.count_later', { transactional: true }), Counting, 'countLater');
coreModule({ name: 'counting', api: 1, plane: 'data' })(Counting);
export class CountingApi {
  static services = [DataPlane];
  constructor(dataPlane) { this.dataPlane = dataPlane; }
  async count(call) { return { status: 200, body: await this.dataPlane.call('acme.count', {}, call) }; }
  async later(call) { return { status: 200, body: await this.dataPlane.call('acme.count_later', { name: call.params.name }, call) }; }
}
const schemas = { summary: 'Counts', responses: { 200: Type.Object({}) } };
decorate(route('POST', '', schemas), CountingApi, 'count');
decorate(route('POST', '/:name', schemas), CountingApi, 'later');
controlModule({ name: 'counting', api: 1, key: 'counting' })(CountingApi);`;

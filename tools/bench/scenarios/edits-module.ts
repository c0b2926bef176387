/** A module that changes any directive of the configuration over the API, as modules of that kind do: by edits of the tree. */

/** Loaded by the data plane and by the control plane: its two halves are in one file. */
export const EDITS_MODULE = 'modules/bench_http_edits_module.mjs';

/** One change. Directives have names: those of the configuration by their place, `http`, `server 3`, `location 3 7`. */
export interface EditCall {
  readonly op: 'add' | 'replace' | 'remove';
  /** The directive that is changed, or gets an addition. */
  readonly target: string;
  /** The directive. */
  readonly text?: string;
  /** Name of additions from now on. */
  readonly name?: string;
}

export const editsModule = `
import { action, route } from 'srv/module/control.js';
import { controlModule, coreModule } from 'srv/module/manifest.js';
import { Type } from 'srv/module/schema.js';
import { DataPlane } from 'srv/module/data-plane.js';
import { Transactions } from 'srv/module/transactions.js';

class Edits {
  static services = [Transactions];
  #named;
  constructor(transactions) {
    this.transactions = transactions;
  }
  async edit({ op, target, text, name }, context) {
    this.#named ??= namesIn(this.transactions.tree);
    const directive = this.#named.get(target);
    const edit = op === 'add' ? { op, parent: directive, text } : { op, target: directive, text };
    const { version, directives } = await this.transactions.apply(() => [edit], context);
    if (op === 'add') this.#named.set(name, directives[0]);
    return { version };
  }
}
decorate(action('bench.edit'), Edits, 'edit');
coreModule({ name: 'bench_http_edits_module', api: 1, plane: 'data' })(Edits);

/** An id stays the same, whatever becomes of the directive. */
function namesIn(root) {
  const named = new Map();
  for (const http of root.named('http')) {
    named.set('http', http);
    let servers = 0;
    for (const server of http.block.named('server')) {
      let locations = 0;
      for (const location of server.block.named('location')) named.set('location ' + servers + ' ' + locations++, location);
      named.set('server ' + servers++, server);
    }
  }
  return named;
}

class EditsApi {
  static services = [DataPlane];
  constructor(dataPlane) {
    this.dataPlane = dataPlane;
  }
  async edit({ body, ...call }) {
    return { status: 200, body: await this.dataPlane.call('bench.edit', body, call) };
  }
}
const text = Type.Optional(Type.String());
decorate(
  route('POST', '', {
    summary: 'Changes one directive',
    body: Type.Object({ op: Type.String(), target: Type.String(), text, name: text }),
    responses: { 200: Type.Object({ version: Type.Integer() }) },
  }),
  EditsApi,
  'edit',
);
controlModule({ name: 'bench_http_edits_module', api: 1, key: 'bench_edits' })(EditsApi);

function decorate(decorator, { prototype }, method) {
  decorator(prototype, method, Object.getOwnPropertyDescriptor(prototype, method));
}

export { Edits, EditsApi };
`;

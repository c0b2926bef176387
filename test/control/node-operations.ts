import * as fc from 'fast-check';
import { StoredHistory } from '../../core/changes/configuration-history.js';
import type { StagedCall } from '../../core/changes/staged-calls.js';
import { ApiError } from '../../core/contract/control.js';
import type { Edit } from '../../core/contract/transactions.js';
import type { Block, Directive } from '../../core/contract/tree.js';
import { find } from './fake-master.js';
import type { LogNode } from './log-node.js';

export const CONFIG = `http {
  upstream demo { zone demo 64k; server 10.0.0.1:80; server 10.0.0.2:80; }
  upstream kept { zone kept 64k; state kept.conf; }
  vhost { server_name a; location /x { allow 1; } location /y { status 200; } }
}`;

/** A call of a client at a node. @param n chooses among what is there */
type Operation = (node: LogNode, n: number) => Promise<unknown>;
type Build = (root: Block) => Edit[];

const nth = (block: Block | undefined, name: string, n: number): Directive | undefined => {
  const all = [...(block?.named(name) ?? [])];
  return all[n % Math.max(1, all.length)];
};
const server = (n: number): string => `server 10.1.0.${n % 7}:80 weight=${1 + (n % 5)};`;
const target = (directive: Directive | undefined, edit: (target: Directive) => Edit): Edit[] => (directive ? [edit(directive)] : []);
const location = (root: Block, n: number): Directive | undefined => nth(nth(find(root, 'http').block, 'vhost', 0)?.block, 'location', n);

const BUILDS: Readonly<Record<string, (n: number) => Build>> = {
  'add a member': (n) => (root) => [{ op: 'add', parent: find(root, 'upstream', n % 2 === 0 ? 'demo' : 'kept'), text: server(n) }],
  'insert a member': (n) => (root) =>
    target(nth(find(root, 'upstream', 'demo').block, 'server', n), (before) => ({
      op: 'add',
      parent: find(root, 'upstream', 'demo'),
      before,
      text: server(n),
    })),
  'remove a member': (n) => (root) =>
    target(nth(find(root, 'upstream', n % 3 === 0 ? 'kept' : 'demo').block, 'server', n), (target) => ({ op: 'remove', target })),
  'change a member': (n) => (root) =>
    target(nth(find(root, 'upstream', n % 3 === 0 ? 'kept' : 'demo').block, 'server', n), (target) => ({
      op: 'replace',
      target,
      text: server(n + 1),
    })),
  'add an upstream': (n) => (root) => [
    { op: 'add', parent: find(root, 'http'), text: `upstream u${n % 3} { zone u${n % 3} 64k; ${server(n)} ${server(n + 1)} }` },
  ],
  'add a location': (n) => (root) => [
    { op: 'add', parent: find(root, 'vhost'), text: `location /l${n % 4} { allow ${n}; allow 1; status 20${n % 10}; }` },
  ],
  'remove a location': (n) => (root) => target(location(root, n), (target) => ({ op: 'remove', target })),
  'add a line': (n) => (root) => target(location(root, n), (parent) => ({ op: 'add', parent, text: `allow ${n % 3};` })),
  'remove a line': (n) => (root) => target(nth(location(root, n)?.block, 'allow', n), (target) => ({ op: 'remove', target })),
  'rename a server': (n) => (root) =>
    target(nth(find(root, 'vhost').block, 'server_name', 0), (target) => ({ op: 'replace', target, text: `server_name a${n % 3};` })),
  'change a block': (n) => (root) =>
    target(location(root, n), (target) => ({
      op: 'replace',
      target,
      text: `location ${target.args[0]?.text} { status 21${n % 10}; allow 1; }`,
    })),
};

const builds = Object.values(BUILDS);
const pick = (n: number): Build => (builds[n % builds.length] as (n: number) => Build)(n);

const OTHERS: Readonly<Record<string, Operation>> = {
  'two calls in one change': ({ master }, n) => {
    const { transactions } = master;
    const call =
      (build: Build): StagedCall =>
      () =>
        transactions.apply(build).then(
          (value) => ({ value }),
          (error: unknown) => ({ error: error instanceof ApiError ? error : new ApiError(400, 'ConfigError', String(error)) }),
        );
    return transactions.together([call(pick(n)), call(pick(n + 5))], { dryRun: false, requestId: `joint-${n}` });
  },
  'roll back': ({ master }, n) => {
    const history = new StoredHistory(master.store, master.transactions);
    return history.rollback(Math.max(1, master.transactions.version - 1 - (n % 4)), { requestId: `rollback-${n}` });
  },
  'change on a condition': ({ master }, n) => {
    const { version } = master.transactions;
    const build: Build = (root) => {
      if (master.transactions.version !== version) throw new ApiError(412, 'VersionMismatch', 'another version');
      return pick(n)(root);
    };
    return master.transactions.apply(build, { requestId: `condition-${n}` });
  },
  'set a pair': ({ pairs }, n) => pairs.set(`key${n % 4}`, `value${n}`),
  'compare and set': ({ pairs }, n) => {
    const [key, ifMatch] = [`key${n % 4}`, pairs.version(`key${n % 4}`)];
    return pairs.set(key, `compared${n}`, ifMatch === undefined ? {} : { ifMatch });
  },
  'delete a pair': ({ pairs }, n) => pairs.delete(`key${n % 4}`),
  'delete all pairs': ({ pairs }) => pairs.clear(),
};

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  ...Object.fromEntries(
    Object.entries(BUILDS).map(([name, build]) => [
      name,
      ({ master }: LogNode, n: number) => master.transactions.apply(build(n), { requestId: `${name} ${n}`, actor: 'test' }),
    ]),
  ),
  ...OTHERS,
};

/** One step of a run: an operation at a node, or something that happens to the nodes. */
export type Step =
  | { readonly operation: string; readonly at: number; readonly n: number }
  | { readonly event: 'wait' | 'trim' }
  | { readonly event: 'cut' | 'connect'; readonly at: number };

const at = fc.nat({ max: 1 });

export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.record({ operation: fc.constantFrom(...Object.keys(OPERATIONS)), at, n: fc.nat({ max: 40 }) }) },
    { weight: 3, arbitrary: fc.record({ event: fc.constantFrom('wait' as const, 'trim' as const) }) },
    { weight: 2, arbitrary: fc.record({ event: fc.constantFrom('cut' as const, 'connect' as const), at }) },
  ),
  { minLength: 4, maxLength: 40 },
);

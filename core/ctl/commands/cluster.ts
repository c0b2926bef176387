import { type Command } from '../command.js';
import { table, valueText, type Row } from '../table.js';

const NODES = table([
  { title: 'NODE', field: 'name' },
  { title: 'ADDRESS', field: 'address' },
  { title: 'SRV', field: 'srv' },
  { title: 'VERSION', field: 'version' },
  { title: 'LAG', text: (row) => (row['lag'] === undefined ? '-' : `${valueText(row['lag'])}s`) },
  { title: 'STATE', text: (row) => `${valueText(row['state'])}${row['stale'] === true ? ' (stale)' : ''}` },
  { title: 'SINCE', field: 'since' },
  { title: 'PAIRS', text: (row) => pairsText(row['pairs'] as Row | undefined) },
  { title: 'DRIFT', text: (row) => (row['drift'] as readonly string[]).join(',') || '-' },
  { title: 'REASON', text: (row) => valueText(row['reason'] ?? (row['pairs'] as Row | undefined)?.['reason'] ?? '-') },
]);

/** State of the key-value pairs of a node: `behind (stale, 3 local)`. */
function pairsText(pairs: Row | undefined): string {
  if (pairs === undefined) return '-';
  const { state, stale, local } = pairs;
  const more = [...(stale === true ? ['stale'] : []), ...(Number(local) > 0 ? [`${valueText(local)} local`] : [])];
  return `${valueText(state)}${more.length > 0 ? ` (${more.join(', ')})` : ''}`;
}

export const CLUSTER: readonly Command[] = [
  {
    words: 'cluster',
    about: 'show the nodes of the cluster, and Redis',
    call: () => ({ method: 'GET', path: '/v1/cluster' }),
    show: (response) => {
      const { version, nodes, redis } = response as { version: number; nodes: readonly Row[]; redis?: Row };
      const facts = ['state', 'role', 'latency_ms', 'memory', 'reason'].filter((name) => redis?.[name] !== undefined);
      const shown = redis && `redis ${valueText(redis['name'])}: ${facts.map((name) => `${name} ${valueText(redis[name])}`).join(', ')}`;
      return [`version ${version}`, ...(shown === undefined ? [] : [shown]), ...NODES(nodes)];
    },
  },
  {
    words: 'cluster wait',
    about: 'wait until all nodes that are alive have a version',
    operands: [{ name: 'VERSION', about: 'version of the configuration' }],
    options: [{ name: 'within', value: 'SECONDS', parameter: 'timeout', about: 'longest time to wait (default: 10)' }],
    call: (args) => ({ method: 'GET', path: `/v1/cluster/versions/${encodeURIComponent(args.operand('VERSION'))}` }),
    show: (response) => {
      const { version, nodes } = response as { version: number; nodes: Readonly<Record<string, string>> };
      return [`version ${version}`, ...Object.entries(nodes).map(([name, state]) => `${name}  ${state}`)];
    },
  },
  {
    words: 'cluster resync',
    about: 'take over the state of the other nodes, on top of the files of this one',
    call: () => ({ method: 'POST', path: '/v1/cluster/resync' }),
    show: (response) => [`version ${valueText((response as Row)['version'])}`],
  },
];

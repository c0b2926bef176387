import { pathOf, type Arguments, type Command, type Operand } from '../command.js';
import { usageFailure } from '../failure.js';
import { fieldLines, table } from '../table.js';

const ZONE: Operand = { name: 'ZONE', about: 'name of the cache: that of its keys_zone' };

const SELECTION = ['prefix', 'tag'] as const;

export const CACHE: readonly Command[] = [
  {
    words: 'cache list',
    about: 'list the caches',
    call: () => ({ method: 'GET', path: '/v1/cache' }),
    show: table([
      { title: 'CACHE', field: 'name' },
      { title: 'ENTRIES', field: 'entries' },
      { title: 'SIZE', field: 'size' },
      { title: 'MAX SIZE', field: 'max_size' },
      { title: 'IN MEMORY', field: 'kept' },
      { title: 'HITS', field: 'hits' },
      { title: 'MISSES', field: 'misses' },
      { title: 'STALE', field: 'stale' },
      { title: 'EXPIRED', field: 'expired' },
      { title: 'BYPASS', field: 'bypass' },
      { title: 'SENT', field: 'bytes' },
    ]),
  },
  {
    words: 'cache get',
    about: 'show a cache with all of its figures',
    operands: [ZONE],
    call: (args) => ({ method: 'GET', path: `/v1/cache${pathOf(args.operand('ZONE'))}` }),
    show: fieldLines,
  },
  {
    words: 'cache show',
    about: 'show the stored response of a key',
    operands: [ZONE, { name: 'KEY', about: 'the key, as proxy_cache_key makes it: httpapp/page' }],
    call: (args) => ({ method: 'GET', path: entriesOf(args), query: { key: args.operand('KEY') } }),
    show: fieldLines,
  },
  {
    words: 'cache purge',
    about: 'remove stored responses',
    operands: [ZONE, { name: 'KEY', about: 'the key of one', optional: true }],
    options: [
      { name: 'prefix', value: 'TEXT', about: 'those whose keys begin with it' },
      { name: 'tag', value: 'TAG', about: 'those with this tag' },
      { name: 'all', about: 'all of them' },
      { name: 'soft', about: 'they become stale, and are not removed' },
    ],
    writes: true,
    notes: ['One of KEY, --prefix, --tag and --all is needed. No worker sends them when the command has ended.'],
    call: (args) => ({ method: 'DELETE', path: entriesOf(args), query: { ...selectionOf(args), ...(args.flag('soft') && { soft: '1' }) } }),
    show: (response) => {
      const { purged } = response as { purged: number | null };
      return purged === null ? [] : [`${purged} purged`];
    },
  },
];

const entriesOf = (args: Arguments): string => `/v1/cache${pathOf(args.operand('ZONE'))}/entries`;

/** @throws Failure if it is not clear what is to be purged */
function selectionOf(args: Arguments): Record<string, string> {
  const chosen: [name: string, value: string][] = SELECTION.flatMap((name) => {
    const value = args.optional(name);
    return value === undefined ? [] : [[name, value]];
  });
  const key = args.optional('KEY');
  if (key !== undefined) chosen.push(['key', key]);
  if (chosen.length + (args.flag('all') ? 1 : 0) === 1) return Object.fromEntries(chosen);
  throw usageFailure('one of KEY, --prefix, --tag and --all is needed', '"srvctl help cache purge" shows them');
}

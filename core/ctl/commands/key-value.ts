import { defined, done, pathOf, type Command, type Operand } from '../command.js';
import { fieldLines, table } from '../table.js';

const KEY: Operand = { name: 'KEY', about: 'the key' };

export const KEY_VALUE: readonly Command[] = [
  {
    words: 'kv list',
    about: 'list keys and values',
    operands: [{ name: 'PREFIX', about: 'how the keys begin', optional: true }],
    options: [
      { name: 'limit', value: 'N', parameter: 'limit', about: 'most pairs (default: all)' },
      { name: 'after', value: 'KEY', parameter: 'after', about: 'keys after this one' },
    ],
    call: (args) => ({ method: 'GET', path: '/v1/kv', query: { prefix: args.optional('PREFIX') ?? '' } }),
    show: table([
      { title: 'KEY', field: 'key' },
      { title: 'VALUE', field: 'value' },
    ]),
  },
  {
    words: 'kv get',
    about: 'print the value of a key',
    operands: [KEY],
    notes: ['With --json also the time that it has left, and its version.'],
    call: (args) => ({ method: 'GET', path: `/v1/kv/keys${pathOf(args.operand('KEY'))}` }),
    show: (response) => [(response as { value: string }).value],
  },
  {
    words: 'kv show',
    about: 'show value, remaining time and version of a key',
    operands: [KEY],
    call: (args) => ({ method: 'GET', path: `/v1/kv/keys${pathOf(args.operand('KEY'))}` }),
    show: fieldLines,
  },
  {
    words: 'kv set',
    about: 'set a key',
    operands: [KEY, { name: 'VALUE', about: 'the value; @FILE reads it from a file, @- from the standard input' }],
    options: [{ name: 'ttl', value: 'TIME', about: 'time until it expires (default: never)' }],
    writes: true,
    call: (args, read) => {
      const value = args.operand('VALUE');
      return {
        method: 'PUT',
        path: `/v1/kv/keys${pathOf(args.operand('KEY'))}`,
        body: { value: value.startsWith('@') ? read(value.slice(1)) : value, ...defined({ ttl: args.optional('ttl') }) },
      };
    },
    show: done,
  },
  {
    words: 'kv remove',
    about: 'remove a key',
    operands: [KEY],
    writes: true,
    call: (args) => ({ method: 'DELETE', path: `/v1/kv/keys${pathOf(args.operand('KEY'))}` }),
    show: done,
  },
];

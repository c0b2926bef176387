import { done, pathOf, type Command, type Operand } from '../command.js';
import { EXIT } from '../failure.js';
import { printable, table, valueText, type Row } from '../table.js';

const KEY: Operand = { name: 'KEY', about: 'key of the settings: http_dyn_bwlist' };

/** Text of several lines that goes to the terminal as it is, but for control characters. */
const textLines = (text: string): readonly string[] =>
  text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => line.split('\t').map(printable).join('\t'));

interface Version {
  readonly version: number;
  readonly at: string;
  readonly origin: string;
  /** Absent in a reload. */
  readonly actor?: string;
  readonly message?: string;
  /** `null`: too long to be kept. Absent in a reload, which has `diff`. */
  readonly changes?: readonly { readonly place: string; readonly before?: string; readonly after?: string }[] | null;
  readonly diff?: readonly string[];
}

const signed = (sign: string, text: string | undefined): readonly string[] =>
  text === undefined ? [] : textLines(text).map((line) => `${sign} ${line}`);

function versionLines({ version, at, origin, actor, message, changes, diff = [] }: Version): readonly string[] {
  const changed =
    changes === null
      ? ['too long to be kept']
      : changes?.flatMap(({ place, before, after }) => [printable(place), ...signed('-', before), ...signed('+', after)]);
  const lines = [...(message === undefined ? [] : [printable(message)]), ...(changed ?? diff.flatMap(textLines))];
  const by = [actor, origin].filter((word) => word !== undefined).map(printable);
  return [[`version ${version}`, at, ...by].join('  '), ...lines.map((line) => `    ${line}`)];
}

export const SETTINGS: readonly Command[] = [
  {
    words: 'config keys',
    about: 'list the keys of settings',
    call: () => ({ method: 'GET', path: '/v1/config' }),
    show: (response) => (response as readonly string[]).map(printable),
  },
  {
    words: 'config get',
    about: 'print the settings of a key as JSON',
    operands: [KEY],
    call: (args) => ({ method: 'GET', path: `/v1/config${pathOf(args.operand('KEY'))}` }),
    show: (response) => JSON.stringify(response, undefined, 2).split('\n'),
  },
  {
    words: 'config set',
    about: 'change the settings that a file names',
    operands: [KEY, { name: 'FILE', about: 'JSON in the form of "config get"; -: standard input', isFile: true }],
    writes: true,
    call: (args, read) => ({ method: 'PUT', path: `/v1/config${pathOf(args.operand('KEY'))}`, body: read(args.operand('FILE')) }),
    show: done,
  },
];

export const CONFIGURATION: readonly Command[] = [
  {
    words: 'effective',
    about: 'print the current configuration',
    notes: ['With --json it is a tree of directives.'],
    call: (args) => ({ method: 'GET', path: '/v1/config/effective', query: args.flag('json') ? {} : { format: 'text' } }),
    show: (response) => textLines(response as string),
  },
  {
    words: 'drift',
    about: 'show what differs from the configuration files',
    options: [{ name: 'exit-code', about: `end with ${EXIT.different} if there is a difference` }],
    showsDiff: true,
    call: () => ({ method: 'GET', path: '/v1/config/drift' }),
    show: done,
  },
  {
    words: 'save',
    about: 'write what the API changed into the configuration files',
    writes: true,
    call: () => ({ method: 'POST', path: '/v1/config/save' }),
    show: (response) => {
      const { files } = response as { files: readonly Row[] };
      return files.length === 0
        ? ['nothing to save']
        : table([
            { title: 'FILE', field: 'file' },
            { title: 'BACKUP', field: 'backup' },
          ])(files);
    },
  },
  {
    words: 'history',
    about: 'show the changes, the newest first',
    options: [{ name: 'limit', value: 'N', parameter: 'limit', about: 'most versions (default: all)' }],
    call: () => ({ method: 'GET', path: '/v1/history' }),
    show: (response) => (response as readonly Version[]).flatMap(versionLines),
  },
  {
    words: 'rollback',
    about: 'take back what the API changed after a version',
    operands: [{ name: 'VERSION', about: 'version that "history" lists' }],
    writes: true,
    call: (args) => ({ method: 'POST', path: `/v1/history${pathOf(args.operand('VERSION'), 'rollback')}` }),
    show: (response) => [`version ${valueText((response as Row)['version'])}`],
  },
  {
    words: 'apply',
    about: 'carry out the calls of a file as one change, all or none',
    operands: [{ name: 'FILE', about: '{"calls":[…]}, or the array of calls; -: standard input', isFile: true }],
    writes: true,
    notes: ['A call is {"method","path","body"}, with the path from /v1 on: docs/api.md, "Transactions".'],
    call: (args, read) => {
      const text = read(args.operand('FILE'));
      return { method: 'POST', path: '/v1/transactions', body: /^\s*\[/.test(text) ? `{"calls":${text}}` : text };
    },
    show: (response) => {
      const { version, results } = response as { version: number; results: readonly unknown[] };
      return [`version ${version}, ${results.length} calls`];
    },
  },
];

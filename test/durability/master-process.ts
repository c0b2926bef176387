/**
 * A master in a process of its own: the real transactions, journal, store and state files, without workers and sockets. Calls come as lines of
 * JSON on stdin, responses leave on stdout.
 */
import { createInterface } from 'node:readline';
import type { Edit } from '../../core/contract/transactions.js';
import type { Block, Directive } from '../../core/contract/tree.js';
import { find, startMaster } from '../control/fake-master.js';

export interface Call {
  readonly call: number;
  readonly op: 'add' | 'replace' | 'remove' | 'list' | 'reload' | 'quit';
  readonly group: string;
  readonly key?: number;
  readonly text?: string;
}

const [folder = '', config = ''] = process.argv.slice(2);
const master = await startMaster({ config, folder, workers: 0 });

function memberOf(root: Block, { group, key }: Call): Directive {
  const found = Array.from(find(root, 'upstream', group).block?.named('server') ?? []).find((member) => member.key === key);
  if (found === undefined) throw new Error(`no member ${key} in ${group}`);
  return found;
}

function editOf(root: Block, call: Call): Edit {
  const { op, group, text = '' } = call;
  if (op === 'add') return { op, parent: find(root, 'upstream', group), text };
  return op === 'replace' ? { op, target: memberOf(root, call), text } : { op: 'remove', target: memberOf(root, call) };
}

async function carryOut(call: Call): Promise<unknown> {
  const { transactions } = master;
  if (call.op === 'list') {
    const members = find(transactions.tree, 'upstream', call.group).block?.named('server') ?? [];
    return Array.from(members, ({ key, args }) => ({ key, words: args.map((word) => word.text) }));
  }
  if (call.op === 'reload') await transactions.reload(() => master.parse(config));
  else if (call.op === 'quit') await master.end();
  else return (await transactions.apply((root) => [editOf(root, call)])).directives[0]?.key;
  return undefined;
}

const say = (message: unknown): void => void process.stdout.write(`${JSON.stringify(message)}\n`);

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const call = JSON.parse(line) as Call;
    carryOut(call).then(
      (value) => {
        say({ call: call.call, value });
        if (call.op === 'quit') process.exit();
      },
      (error: unknown) => say({ call: call.call, error: String(error) }),
    );
  })
  .on('close', () => process.exit());
say({ ready: true });

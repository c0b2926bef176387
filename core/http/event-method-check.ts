import type { Change } from '../config/change.js';
import { ErrorCollector } from '../config/error-collector.js';
import { errorAt } from '../config/errors.js';
import type { Block, Directive } from '../contract/tree.js';
import { problemInNode } from '../toolkit/tls/conf-commands.js';

const HINT = 'write "use epoll;" in the block "events", or nothing: it is the default where it is possible';

/** @throws ConfigErrors for directives that the event method which `use` names does not have */
export function assertEventMethod({ after, events: { use } }: Pick<Change, 'after' | 'events'>): void {
  if (use === undefined || use === 'epoll') return;
  const errors = new ErrorCollector();
  for (const engine of ['http', 'stream']) {
    for (const { block } of after.root.named(engine)) if (block !== undefined) assertNone(block, use, errors);
  }
  errors.throwIfAny();
}

function assertNone(block: Block, use: string, errors: ErrorCollector): void {
  for (const directive of block) {
    const what = missing(directive);
    if (what !== undefined)
      errors.attempt(() => {
        throw errorAt(directive, `${what} is not supported by the event method "${use}"`, undefined, HINT);
      });
    if (directive.block !== undefined) assertNone(directive.block, use, errors);
  }
}

/** Names the part of a directive that sockets of Node.js do not have. */
function missing({ name, args: [first, second] }: Directive): string | undefined {
  if (name === 'ssl_early_data' || name === 'ssl_stapling') return first?.text === 'off' ? undefined : `"${name}"`;
  if (!name.endsWith('ssl_conf_command') || first === undefined || second === undefined) return undefined;
  const isPossible = problemInNode({ command: first.text, value: second.text }) === undefined;
  return isPossible ? undefined : `the command "${first.text} ${second.text}" of "${name}"`;
}

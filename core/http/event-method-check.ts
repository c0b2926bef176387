import type { Change } from '../config/change.js';
import { ErrorCollector } from '../config/error-collector.js';
import { errorAt } from '../config/errors.js';
import type { Block, Directive } from '../contract/tree.js';
import { problemInNode } from '../toolkit/tls/conf-commands.js';

const HINT = 'write "use epoll;" in the block "events", or nothing: it is the default where it is possible';

/** Options of sockets for connections that sockets of Node.js do not have. */
const SOCKET_OPTIONS = /^(?:rcvbuf=|sndbuf=|fastopen=|deferred$)/;

/** Warns of options of sockets when the configuration is read. @throws ConfigErrors for directives that the event method which `use` names does not have */
export function assertEventMethod({ after, before, rereads, events: { use }, warn: toLog }: Change): void {
  if (use === undefined || use === 'epoll') return;
  const errors = new ErrorCollector();
  const warn = rereads || [...before.root].length === 0 ? toLog : (): void => undefined;
  for (const engine of ['http', 'stream']) {
    for (const { block } of after.root.named(engine)) if (block !== undefined) assertNone(block, use, { errors, warn });
  }
  errors.throwIfAny();
}

/** Where errors and warnings go to. */
interface Findings extends Pick<Change, 'warn'> {
  readonly errors: ErrorCollector;
}

function assertNone(block: Block, use: string, findings: Findings): void {
  const { errors, warn } = findings;
  for (const directive of block) {
    const what = missing(directive);
    if (what !== undefined)
      errors.attempt(() => {
        throw errorAt(directive, `${what} is not supported by the event method "${use}"`, undefined, HINT);
      });
    const { file, line } = directive.source;
    for (const option of directive.name === 'listen' ? lostOptions(directive) : [])
      warn(`"${option}" of "listen" ignored, not supported by the event method "${use}" in ${file}:${line}; "use epoll" has it`);
    if (directive.block !== undefined) assertNone(directive.block, use, findings);
  }
}

/** Sockets for datagrams have buffers of their own with either method. */
function lostOptions({ args }: Directive): string[] {
  const words = args.map(({ text }) => text);
  return words.includes('udp') ? [] : words.filter((word) => SOCKET_OPTIONS.test(word));
}

/** Names the part of a directive that sockets of Node.js do not have. */
function missing({ name, args: [first, second] }: Directive): string | undefined {
  if (name === 'ssl_early_data' || name === 'ssl_stapling') return first?.text === 'off' ? undefined : `"${name}"`;
  if (!name.endsWith('ssl_conf_command') || first === undefined || second === undefined) return undefined;
  const isPossible = problemInNode({ command: first.text, value: second.text }) === undefined;
  return isPossible ? undefined : `the command "${first.text} ${second.text}" of "${name}"`;
}

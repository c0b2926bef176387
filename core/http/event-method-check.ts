import type { Change } from '../config/change.js';
import { errorAt } from '../config/errors.js';
import type { Block } from '../contract/tree.js';

/** Directives that have no effect with the sockets of Node.js. */
const OF_EPOLL: readonly string[] = ['ssl_early_data'];

/** @throws ConfigError for a directive that the event method which `use` names does not have */
export function assertEventMethod({ after, events: { use } }: Pick<Change, 'after' | 'events'>): void {
  if (use === undefined || use === 'epoll') return;
  for (const { block: http } of after.root.named('http')) {
    if (http === undefined) continue;
    assertNone(http, use);
    for (const { block: server } of http.named('server')) if (server !== undefined) assertNone(server, use);
  }
}

function assertNone(block: Block, use: string): void {
  for (const name of OF_EPOLL)
    for (const directive of block.named(name)) {
      if (directive.args[0]?.text === 'off') continue;
      const message = `"${name}" is not supported by the event method "${use}"`;
      throw errorAt(
        directive,
        message,
        undefined,
        'write "use epoll;" in the block "events", or nothing: it is the default where it is possible',
      );
    }
}

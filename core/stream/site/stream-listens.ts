import type { Directive } from '../../contract/tree.js';
import { listenOptions } from '../../net/listen-lines.js';
import { parseStreamListen, type ListenOptions } from '../../net/listen-options.js';
import type { ServerDialect } from '../../net/server-dialect.js';

/** Where a server listens, by its `listen` lines. @throws ConfigErrors as {@link listenOptions} */
export function streamListens(lines: readonly Directive[], path: (relative: string) => string): readonly ListenOptions[] {
  return listenOptions(lines, (words) => parseStreamListen(words, path));
}

/** How servers of `stream` say where they listen: `0.0.0.0:53 udp` is another address than `0.0.0.0:53`. */
export const STREAM_SERVERS: ServerDialect = {
  engine: 'stream',
  address(text, path) {
    const [, bare = text, udp] = /^(\S+)\s+(udp)$/.exec(text.trim()) ?? [];
    return parseStreamListen(udp === undefined ? [bare] : [bare, udp], path)[0];
  },
  listens: streamListens,
};

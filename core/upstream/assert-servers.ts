import { ownDirective } from '../config/conf.js';
import { errorAt, type ConfigError } from '../config/errors.js';
import type { Tree } from '../config/tree.js';
import type { Directive } from '../contract/tree.js';
import { hasOnlyBackups, noServers } from '../toolkit/upstream-text.js';
import { upstreamsOf } from './touched.js';

/** An upstream to which no members can be added must have some from the start, and not backup members alone. @throws ConfigError */
export function assertServers(directive: Directive): void {
  if (ownDirective(directive.block!, 'server') === undefined) throw errorAt(directive, 'no servers are inside upstream');
  if (hasOnlyBackups(directive)) throw noServersIn(directive);
}

/**
 * Errors of the upstreams with a zone in configuration files. At run time they may have backup servers alone, because the API may remove the others,
 * and a start has to bring that back.
 */
export function backupsAlone(files: Tree): readonly ConfigError[] {
  const upstreams = [...upstreamsOf(files, 'http'), ...upstreamsOf(files, 'stream')];
  return upstreams.filter((upstream) => hasZone(upstream) && hasOnlyBackups(upstream)).map(noServersIn);
}

const hasZone = ({ block }: Directive): boolean => block !== undefined && ownDirective(block, 'zone') !== undefined;

function noServersIn(directive: Directive): ConfigError {
  const { message, hint } = noServers(directive);
  return errorAt(directive, message, directive.args[0], hint);
}

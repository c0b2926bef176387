import type * as Ffi from 'node:ffi';
import { experimentalBuiltin } from '../../../config/experimental-builtin.js';

/** Versions of Node.js whose `node:ffi` and internals are known. */
const KNOWN_VERSIONS: ReadonlySet<string> = new Set(['26']);

/** `node:ffi`, where its functions can be called as srv does. A text: why not, for operators. */
export function foreignFunctions(): typeof Ffi | string {
  const [version = ''] = process.versions.node.split('.', 1);
  if (process.platform !== 'linux') return `the system is ${process.platform}`;
  if (process.arch !== 'x64' && process.arch !== 'arm64') return `the processor is ${process.arch}`;
  if (!KNOWN_VERSIONS.has(version)) return `Node.js ${version} is not known`;
  return (experimentalBuiltin('node:ffi', 'FFI') as typeof Ffi | undefined) ?? 'this Node.js has no node:ffi';
}

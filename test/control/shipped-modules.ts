import { readRoot } from '../docs/source-files.js';

/** The modules of a shipped configuration that a node of the harness does not load by itself, for `main` and `controlMain`. */
export function shippedModules(file: string): string {
  const lines = Array.from(readRoot(`conf/${file}`).matchAll(/^load_module .*;$/gm), ([line]) => line);
  return lines.filter((line) => !/srv_http_upstream_(?:member|api)_|multi_header|sendmsg/.test(line)).join('\n');
}

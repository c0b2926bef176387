import { basename } from 'node:path';
import { messageWithPlace } from '../config/error-report.js';
import { errorAt } from '../config/errors.js';
import type { ConfigTree } from '../config/tree.js';

/** `module "x" is loaded in FILE:LINE`: a module has the name of its file. Empty: its line is not known, as that of an npm package. */
export function loadModuleLine(module: string, { root }: ConfigTree): string {
  for (const line of root.named('load_module')) {
    const [argument] = line.args;
    if (argument !== undefined && basename(argument.text).replace(/\.\w+$/, '') === module)
      return messageWithPlace(errorAt(line, `module "${module}" is loaded`, argument));
  }
  return '';
}

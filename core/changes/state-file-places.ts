import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorAt } from '../config/errors.js';
import type { Directive } from '../contract/tree.js';
import type { StateFile } from './state-files.js';

/** Where the state files of one configuration are. */
export class StateFilePlaces {
  /** By path: the directive that names it. */
  readonly #users = new Map<string, Directive>();

  /** @param dataFolder created by a start, if it does not exist yet */
  constructor(private readonly dataFolder: string | undefined) {}

  /** @throws ConfigError when the file cannot be written, or is written by another block: it would lose what it is to keep */
  assertUsable({ directive, path }: StateFile): void {
    const [word] = directive.args;
    const other = this.#users.get(path);
    this.#users.set(path, directive);
    if (other !== undefined && other.id !== directive.id) {
      const { file, line } = other.source;
      throw errorAt(directive, `"${directive.name}" file "${path}" is used twice`, word, `the other one is in ${file}:${line}`);
    }
    const folder = dirname(path);
    if (`${this.dataFolder ?? ''}/`.startsWith(`${folder}/`) || existsSync(folder)) return;
    throw errorAt(
      directive,
      `"${directive.name}" file "${path}" cannot be written: no such directory`,
      word,
      `create the directory ${folder}`,
    );
  }
}

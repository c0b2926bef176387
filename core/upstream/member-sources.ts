import { inspect } from 'node:util';
import type { Change } from '../config/change.js';
import { ConfReader } from '../config/conf.js';
import { errorAt } from '../config/errors.js';
import type { MemberSource } from '../contract/members.js';
import type { Directives } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import type { UpstreamEngine } from './upstream-engine.js';
import { called, scopeOf } from './upstream-scope.js';

/** A source, and the module that has it. */
export interface ChosenSource {
  readonly module: string;
  /** Of the module's object: another one has other sources. */
  readonly owner: object;
  readonly key: string;
  readonly follow: MemberSource['follow'];
}

/** Where the members of `server` lines with `members_from` come from. Made once for each set of modules. */
export class MemberSources {
  readonly #modules;

  constructor(
    readonly modules: Change['modules'],
    private readonly engine: UpstreamEngine,
  ) {
    this.#modules = Array.from(modules).flatMap(({ name, hooks, declaration }) => {
      const { members } = hooks;
      const reader = new ConfReader<Directives>(declaration.manifest.directives ?? {});
      return members === undefined ? [] : [{ name, hooks, members, reader }];
    });
  }

  /** @param block with the line @param source as the line names it @param line errors are reported there @throws ConfigError */
  of(block: Directive, source: string, line: Directive = block): ChosenSource {
    for (const { name, hooks, members, reader } of this.#modules) {
      const scope = scopeOf(block, reader, this.modules, this.engine, line);
      const given = called('members', name, scope, () => {
        const found = members(source, scope) ?? undefined;
        assertSource(found);
        return found;
      });
      if (given === undefined) continue;
      return { module: name, owner: hooks, key: given.key, follow: (take) => given.follow(take) };
    }
    const word = line.args.find(({ text }) => text.startsWith('members_from='));
    throw errorAt(line, `unknown source "${source}" in "members_from"`, word, hintFor(source));
  }
}

function hintFor(source: string): string {
  return /^(?:file:|https?:)/.test(source)
    ? 'load_module modules/srv_http_members_from_module.so; has file: and URLs'
    : 'file:/path, a URL, or a source of a module that is loaded';
}

/** The types of a module written in JavaScript are not checked. */
function assertSource(source: unknown): void {
  if (source === undefined) return;
  const { key, follow } = source as Partial<MemberSource>;
  if (typeof key !== 'string' || typeof follow !== 'function')
    throw new TypeError(`it must return { key, follow }, not ${inspect(source, { depth: 0 })}`);
}

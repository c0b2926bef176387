import type { Change } from './change.js';
import type { Resource } from '../contract/resource.js';
import type { EngineName } from '../contract/spec.js';
import { fileInput, pathOfInput, upstreamInput, upstreamOfInput, type Holdings } from './holdings.js';
import { IdMap } from './id-map.js';
import type { InputFiles } from './input-files.js';
import { LayeredMap } from './layered-map.js';

/** Servers and locations of one engine by what they were made of besides their blocks, see {@link Holdings.inputs}. */
export type InputUsers = LayeredMap<string, IdMap<true>>;

/** Effect of one change on the users of inputs, and on their open resources. */
export class InputUsersDraft {
  /** Resources of servers and locations that are not active any more. */
  readonly retired: Resource[] = [];
  /** By input, the ids that use it from now on (true) or no longer do (false). */
  readonly #uses = new Map<string, Map<number, boolean>>();

  /** @param id of a server or location, which holds `after` in the place of `before` now */
  replace(id: number, before: Holdings | undefined, after: Holdings | undefined): void {
    for (const input of before?.inputs ?? []) this.#useOf(input).set(id, false);
    for (const input of after?.inputs ?? []) this.#useOf(input).set(id, true);
    if (before !== undefined && before.resources.length > 0) this.#retire(before.resources, after?.resources ?? []);
  }

  /** A location keeps the resources of the modules that a change does not concern. */
  #retire(before: readonly Resource[], after: readonly Resource[]): void {
    const kept = new Set(after);
    for (const resource of before) if (!kept.has(resource)) this.retired.push(resource);
  }

  /** The users after the change. */
  applyTo(before: InputUsers = LayeredMap.of<string, IdMap<true>>([])): InputUsers {
    if (this.#uses.size === 0) return before;
    const changes = Array.from(this.#uses, ([input, ids]) => {
      const users = (before.get(input) ?? IdMap.empty<true>()).edit();
      for (const [id, uses] of ids) {
        if (uses) users.set(id, true);
        else users.delete(id);
      }
      const now = users.commit();
      return [input, now.size > 0 ? now : undefined] as const;
    });
    return before.with(changes);
  }

  #useOf(input: string): Map<number, boolean> {
    const known = this.#uses.get(input) ?? new Map<number, boolean>();
    this.#uses.set(input, known);
    return known;
  }
}

/**
 * Servers and locations that have to be compiled because something outside of their blocks is another now: a file, an upstream.
 * @param isChanging true for the name of an upstream that will be another one
 */
export function concernedUsers(
  users: InputUsers,
  change: Change,
  engine: EngineName,
  files: Pick<InputFiles, 'changed'>,
  isChanging: (upstream: string) => boolean,
): ReadonlySet<number> {
  const inputs = changedUpstreams(users, change, engine, isChanging);
  if (change.rereads) {
    const paths = Array.from(users, ([input]) => pathOfInput(input)).filter((path) => path !== undefined);
    inputs.push(...files.changed(paths).map(fileInput));
  }
  const ids = new Set<number>();
  for (const input of inputs) for (const id of users.get(input)?.keys() ?? []) ids.add(id);
  return ids;
}

function changedUpstreams(users: InputUsers, change: Change, engine: EngineName, isChanging: (upstream: string) => boolean): string[] {
  const names = upstreamNames(change, engine);
  const used = names === undefined ? Array.from(users, ([input]) => input) : Array.from(names, upstreamInput);
  return used.filter((input) => {
    const name = upstreamOfInput(input);
    return name !== undefined && users.get(input) !== undefined && isChanging(name);
  });
}

/** Names of the upstreams that a change concerns; undefined: it may be any. */
function upstreamNames({ before, after, operations }: Change, engine: EngineName): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (const operation of operations) {
    if (operation.op === 'root') return undefined;
    const id = operation.op === 'add' || operation.op === 'replace' ? operation.directive.id : operation.id;
    for (const tree of [before, after]) {
      const path = tree.pathOf(id);
      if (path[0]?.name === engine && path.length === 1) return undefined;
      if (path[0]?.name === engine && path[1]?.name === 'upstream') names.add(path[1].args[0]?.text ?? '');
    }
  }
  return names;
}

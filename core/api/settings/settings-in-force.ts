import { createHash } from 'node:crypto';
import { assertPreconditions, type ActionContext } from '../../contract/control.js';
import type { Edit, Transactions } from '../../contract/transactions.js';
import { sameJson } from '../../toolkit/setting-fields.js';
import type { Setting, SettingCall, SettingSurroundings } from '../../contract/setting.js';
import type { Directive } from '../../contract/tree.js';
import { DONE, type Versioned } from '../../contract/versioned.js';
import type { VirtualServers } from '../../contract/virtual-servers.js';
import { CallErrors } from './call-errors.js';
import { lineEdits } from './line-edits.js';
import { settingTargets, type CallFields, type SettingBody, type SettingTarget } from './setting-targets.js';
import { linesOf, shownFields, shownServer } from './setting-view.js';

export interface SettingPage {
  /** The id of the server that the page before ended with. */
  readonly after?: number;
  readonly limit?: number;
}

/** Configuration that settings are read from and changed in. */
export interface SettingServices {
  readonly transactions: Transactions;
  /** By the name of the block of their traffic engine. */
  readonly servers: Readonly<Partial<Record<Setting['engine'], VirtualServers>>>;
  readonly path: SettingSurroundings['path'];
}

/** Digest of the servers of a setting: zero if they set nothing. */
interface Digests {
  /** Digest of the directives that the setting uses. */
  readonly used: string;
  readonly servers: WeakMap<Directive, bigint>;
}

/** The current settings: what they show, and what a call of the API changes. Master only. */
export class SettingsInForce {
  readonly #digests = new WeakMap<Setting, Digests>();

  constructor(private readonly services: SettingServices) {}

  /** Servers in the order in which they were made where a page is asked for: what comes or goes meanwhile moves nothing. */
  list(setting: Setting, { after = 0, limit = Infinity }: SettingPage): Versioned<CallFields> {
    const around = this.#surroundings(setting);
    const digests = this.#digestsOf(setting, around);
    const said = [...this.#servers(setting).all()].filter(({ directive }) => digest(directive, setting, around, digests) !== 0n);
    const isPage = after > 0 || limit !== Infinity;
    const rest = isPage ? said.filter(({ directive }) => directive.id > after).toSorted((a, b) => a.directive.id - b.directive.id) : said;
    const page = rest.slice(0, limit);
    const last = page.at(-1);
    return {
      value: {
        ...(after === 0 && this.#global(setting, around)),
        ...((setting.server ?? setting.location) && { servers: page.map((server) => shownServer(server, setting, around)) }),
      },
      version: this.#version(setting),
      diff: [],
      ...(page.length < rest.length && last !== undefined && { next: last.directive.id }),
    };
  }

  /** @throws ApiError 404 `ServerNotFound`, `LocationNotFound`; 400 `InvalidField`; 412; and what any change of the configuration throws */
  async change(setting: Setting, body: SettingBody, context: ActionContext): Promise<Versioned> {
    const { diff } = await this.services.transactions.apply(() => {
      // A file that cannot be read now could not be read either when the change is active, which is too late to reject it.
      const version = this.#version(setting);
      assertPreconditions(context, () => version);
      return this.#edits(setting, body);
    }, context);
    return { value: DONE, version: context.dryRun ? '' : this.#version(setting), diff };
  }

  #edits(setting: Setting, body: SettingBody): readonly Edit[] {
    const errors = new CallErrors();
    const around = this.#surroundings(setting);
    const targets = settingTargets(setting, body, { servers: this.#servers(setting), engine: this.#engine(setting), errors });
    const edits = targets.flatMap((target) => targetEdits(target, around, errors));
    errors.throwIfAny();
    // A setting says with directives of its own which files there are.
    return edits.map((edit) => (edit.op === 'remove' ? edit : { ...edit, areFilesChecked: true }));
  }

  /** Another one when what a setting says anywhere has changed; the same after a restart, whatever the order of the servers. */
  #version(setting: Setting): string {
    const around = this.#surroundings(setting);
    const digests = this.#digestsOf(setting, around);
    let sum = digestOf(this.#global(setting, around));
    for (const server of this.#engine(setting)?.block?.named('server') ?? []) sum += digest(server, setting, around, digests);
    return BigInt.asUintN(64, sum).toString(16);
  }

  #digestsOf(setting: Setting, around: SettingSurroundings): Digests {
    const used = JSON.stringify((setting.uses ?? []).map((name) => around.lines(name).map(({ args }) => args.map(({ text }) => text))));
    const known = this.#digests.get(setting);
    if (known?.used === used) return known;
    const digests = { used, servers: new WeakMap<Directive, bigint>() };
    this.#digests.set(setting, digests);
    return digests;
  }

  #global(setting: Setting, around: SettingSurroundings): CallFields {
    const engine = this.#engine(setting);
    return engine === undefined ? {} : shownFields(engine, setting.global, around);
  }

  #engine({ engine }: Setting): Directive | undefined {
    const [block] = this.services.transactions.tree.named(engine);
    return block;
  }

  #servers({ engine }: Setting): VirtualServers {
    const servers = this.services.servers[engine];
    if (servers === undefined) throw new Error(`no servers of "${engine}"`);
    return servers;
  }

  #surroundings(setting: Setting): SettingSurroundings {
    const { path } = this.services;
    const block = this.#engine(setting)?.block;
    const { key, uses = [] } = setting;
    return {
      path,
      lines(name) {
        if (!uses.includes(name)) throw new Error(`setting "${key}" does not say that it uses "${name}"`);
        return Array.from(block?.named(name) ?? []);
      },
    };
  }
}

/** A field of the call with its current value changes nothing. */
function targetEdits({ block, sets, fields, pointer }: SettingTarget, around: SettingSurroundings, errors: CallErrors): readonly Edit[] {
  const call: SettingCall = {
    ...around,
    pointer,
    reject: (place, message) => errors.add(400, 'InvalidField', `${pointer}${place}`, message),
  };
  return sets.flatMap((set) => {
    const lines = linesOf(block, set);
    const shown = set.read(lines, around);
    const changed = Object.keys(set.fields).filter((name) => name in fields && !sameJson(fields[name] ?? null, shown[name] ?? null));
    if (changed.length === 0) return [];
    const wanted = set.write(Object.fromEntries(changed.map((name) => [name, fields[name]])), lines, call);
    return lineEdits(block, lines, wanted);
  });
}

/** Of one server. Unchanged blocks are not read again. */
function digest(server: Directive, setting: Setting, around: SettingSurroundings, { servers }: Digests): bigint {
  const known = servers.get(server);
  if (known !== undefined) return known;
  const shown = shownServer(
    { directive: server, addresses: wordsOf(server, 'listen'), names: wordsOf(server, 'server_name') },
    setting,
    around,
  );
  const found = shown === undefined ? 0n : digestOf(shown);
  servers.set(server, found);
  return found;
}

function wordsOf({ block }: Directive, name: string): readonly string[] {
  return Array.from(block?.named(name) ?? []).flatMap(({ args }) => args.map(({ text }) => text));
}

function digestOf(value: unknown): bigint {
  return createHash('sha256').update(JSON.stringify(value)).digest().readBigUInt64BE();
}

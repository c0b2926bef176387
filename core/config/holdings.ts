import type { MetricKinds } from '../contract/metrics.js';
import type { Directive } from '../contract/tree.js';
import { configErrorsOf, errorAt } from './errors.js';
import type { ErrorCollector } from './error-collector.js';
import { inputFile } from './input-file.js';
import type { InputFile, Resource } from '../contract/resource.js';
import type { Log } from '../contract/log.js';

/** Dependencies and open resources of one compiled server or location, beside its handlers. */
export interface Holdings {
  /** Keys of what it was made of that is not in its block: `file /etc/keys`, `upstream backend`. */
  readonly inputs: readonly string[];
  readonly resources: readonly OpenedResource[];
}

/** A resource with the place of the module that opened it among all; undefined: it is of several. */
export interface OpenedResource extends Resource {
  readonly owner: number | undefined;
}

export const fileInput = (path: string): string => `file ${path}`;
export const folderInput = (path: string): string => `folder ${path}`;
/** Names of upstreams are compared without case. */
export const upstreamInput = (name: string): string => `upstream ${name.toLowerCase()}`;

/** The path of an input that is a file. */
export function pathOfInput(input: string): string | undefined {
  return input.startsWith('file ') ? input.slice(5) : undefined;
}

export function upstreamOfInput(input: string): string | undefined {
  return input.startsWith('upstream ') ? input.slice(9) : undefined;
}

export const NO_HOLDINGS: Holdings = { inputs: [], resources: [] };

/** Files as the configuration sees them: the same bytes in all threads. */
export interface FileSource {
  /** @throws the error of the system */
  read(path: string): Buffer;
}

/** How resources of a module are called and waited for: code of others is limited in time, since all threads call it at the same moment. */
export interface ResourceLimits {
  readonly call: (step: () => void) => void;
  readonly ready: (ready: Promise<void>) => Promise<void>;
}

/** Resources of shipped modules. */
export const NO_LIMITS: ResourceLimits = { call: (step) => step(), ready: (ready) => ready };

/** Notes what modules use and open while one server or location is compiled. */
export class UnitRecorder {
  /** All that was opened since the last {@link takeOpened}: to be committed or aborted with the change. */
  #opened: Resource[] = [];
  #inputs = new Set<string>();
  #resources: OpenedResource[] = [];
  /** See {@link signal}. */
  #retiring: AbortController | undefined;
  #isRecording = false;
  /** Promises that the change waits for. */
  #waits: Promise<void>[] = [];
  /** Results of parsing a file. A file that changes has other bytes, so nothing is ever out of date. */
  readonly #parsed = new WeakMap<Buffer, Map<unknown, unknown>>();

  /** How often something was noted. */
  notes = 0;

  /** Place of the module that is called. */
  owner: number | undefined;

  /** Takes warnings about the configuration that is being compiled. */
  warn: (message: string) => void = () => undefined;

  constructor(
    private readonly files: FileSource,
    readonly log: Log,
    readonly metrics: Pick<MetricKinds, 'counter'>,
  ) {}

  /** Runs a step that compiles a server or a location. @returns what it gave, and what was noted meanwhile */
  record<T>(step: () => T): readonly [result: T, holdings: Holdings] {
    this.#inputs = new Set();
    this.#resources = [];
    this.#retiring = undefined;
    this.owner = undefined;
    this.#isRecording = true;
    const result = this.#recorded(step);
    const isEmpty = this.#inputs.size === 0 && this.#resources.length === 0;
    return [result, isEmpty ? NO_HOLDINGS : { inputs: [...this.#inputs], resources: this.#resources }];
  }

  #recorded<T>(step: () => T): T {
    try {
      return step();
    } finally {
      this.#isRecording = false;
    }
  }

  /**
   * Aborted when what is being compiled is not active any more. One for all modules of the server or location.
   * @throws Error where nothing is being compiled
   */
  signal(limits: ResourceLimits): AbortSignal {
    if (!this.#isRecording) throw new Error('"signal" of a scope must be read in "compile" or "compileServer"');
    if (this.#retiring === undefined) {
      const retiring = new AbortController();
      const end = (): void => retiring.abort();
      this.#add({ retire: end, abort: end }, undefined, limits);
      this.#retiring = retiring;
    }
    return this.#retiring.signal;
  }

  use(input: string): void {
    this.notes++;
    this.#inputs.add(input);
  }

  /** @param directive that errors are reported at, unless they say themselves where */
  register(resource: Resource, limits: ResourceLimits, directive?: Directive): void {
    this.notes++;
    const ready = resource.ready && placed(limits.ready(resource.ready), directive);
    // True if it failed is asked for when all are compiled, which may be long after.
    ready?.catch(() => undefined);
    if (ready !== undefined) this.#waits.push(ready);
    this.#add(resource, this.owner, limits);
  }

  #add(resource: Resource, owner: number | undefined, limits: ResourceLimits): void {
    const guarded = new GuardedResource(resource, owner, limits, this.log);
    this.#resources.push(guarded);
    this.#opened.push(guarded);
  }

  /** Resolves when all that was opened since the last call is ready. */
  async settle(errors: ErrorCollector): Promise<void> {
    const waits = this.#waits;
    this.#waits = [];
    for (const result of await Promise.allSettled(waits)) if (result.status === 'rejected') errors.add(result.reason);
  }

  /** Also for what was opened by a compilation that failed. */
  takeOpened(): readonly Resource[] {
    const opened = this.#opened;
    this.#opened = [];
    return opened;
  }

  /** The result of `parse` for a file: called once for all scopes with the same function. */
  file<T>(path: string, parse: (file: InputFile) => T): T {
    this.use(fileInput(path));
    const bytes = this.files.read(path);
    const parsed = this.#parsed.get(bytes) ?? new Map<unknown, unknown>();
    this.#parsed.set(bytes, parsed);
    if (!parsed.has(parse)) parsed.set(parse, parse(inputFile(path, bytes)));
    return parsed.get(parse) as T;
  }
}

/** A resource of a module whose errors are logged: nothing may stop a change from taking effect. */
class GuardedResource implements OpenedResource {
  constructor(
    private readonly resource: Resource,
    readonly owner: number | undefined,
    private readonly limits: ResourceLimits,
    private readonly log: Log,
  ) {}

  commit(): void {
    this.#attempt('commit');
  }

  abort(): void {
    this.#attempt('abort');
  }

  retire(): void {
    this.#attempt('retire');
  }

  release(): void {
    this.#attempt('release');
  }

  #attempt(step: 'commit' | 'abort' | 'retire' | 'release'): void {
    const { resource } = this;
    if (resource[step] === undefined) return;
    try {
      this.limits.call(() => resource[step]?.());
    } catch (error) {
      this.log.write('alert', `"${step}" of a resource of the configuration failed: ${(error as Error).stack ?? String(error)}`);
    }
  }
}

async function placed(ready: Promise<void>, directive: Directive | undefined): Promise<void> {
  try {
    await ready;
  } catch (error) {
    if (directive === undefined || configErrorsOf(error) !== undefined || !(error instanceof Error)) throw error;
    throw errorAt(directive, error.message);
  }
}

import { inputFile } from './input-file.js';
import type { InputFile, Resource } from '../module/resource.js';
import type { Log } from '../module/services.js';

/** What one compiled server or location depends on and holds open, beside its handlers. */
export interface Holdings {
  /** Keys of what it was made of that is not in its block: `file /etc/keys`, `upstream backend`. */
  readonly inputs: readonly string[];
  readonly resources: readonly Resource[];
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

/** Notes what modules use and open while one server or location is compiled. */
export class UnitRecorder {
  /** All that was opened since the last {@link takeOpened}: to be committed or aborted with the change. */
  #opened: Resource[] = [];
  #inputs = new Set<string>();
  #resources: Resource[] = [];
  /** What was made of a file. A file that changes has other bytes, so nothing is ever out of date. */
  readonly #parsed = new WeakMap<Buffer, Map<unknown, unknown>>();

  /** Takes warnings about the configuration that is being compiled. */
  warn: (message: string) => void = () => undefined;

  constructor(
    private readonly files: FileSource,
    readonly log: Log,
  ) {}

  /** Runs a step that compiles a server or a location. @returns what it gave, and what was noted meanwhile */
  record<T>(step: () => T): readonly [result: T, holdings: Holdings] {
    this.#inputs = new Set();
    this.#resources = [];
    const result = step();
    const isEmpty = this.#inputs.size === 0 && this.#resources.length === 0;
    return [result, isEmpty ? NO_HOLDINGS : { inputs: [...this.#inputs], resources: this.#resources }];
  }

  use(input: string): void {
    this.#inputs.add(input);
  }

  register(resource: Resource): void {
    const guarded = {
      commit: () => this.#attempt('commit', resource),
      abort: () => this.#attempt('abort', resource),
      release: () => this.#attempt('release', resource),
    };
    this.#resources.push(guarded);
    this.#opened.push(guarded);
  }

  /** Nothing may stop a change on its way into force. */
  #attempt(step: keyof Resource, resource: Resource): void {
    try {
      resource[step]?.();
    } catch (error) {
      this.log.write('alert', `"${step}" of a resource of the configuration failed: ${(error as Error).stack ?? String(error)}`);
    }
  }

  /** Also for what was opened by a compilation that failed. */
  takeOpened(): readonly Resource[] {
    const opened = this.#opened;
    this.#opened = [];
    return opened;
  }

  /** What `parse` makes of a file: once for all scopes that ask with the same function. */
  file<T>(path: string, parse: (file: InputFile) => T): T {
    this.use(fileInput(path));
    const bytes = this.files.read(path);
    const parsed = this.#parsed.get(bytes) ?? new Map<unknown, unknown>();
    this.#parsed.set(bytes, parsed);
    if (!parsed.has(parse)) parsed.set(parse, parse(inputFile(path, bytes)));
    return parsed.get(parse) as T;
  }
}

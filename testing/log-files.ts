/** Files of logs for unit tests. */
import { LogFiles, type LogFile, type NamedLogFiles } from '../core/contract/log-files.js';

/** Keeps the lines of each file. Nothing is written to the disk. */
export class FakeLogFiles extends LogFiles {
  readonly #lines = new Map<string, string[]>();
  readonly #uses = new Map<string, number>();

  /** @param broken paths that cannot be opened */
  constructor(private readonly broken: readonly string[] = []) {
    super();
  }

  /** Files that were opened and not closed as often. */
  opened(): readonly string[] {
    return [...this.#uses].filter(([, uses]) => uses > 0).map(([path]) => path);
  }

  /** Lines written into a file. */
  lines(path: string): readonly string[] {
    return this.#lines.get(path) ?? [];
  }

  open(path: string): LogFile {
    this.#assertWritable(path);
    this.#use(path, 1);
    return { write: (line) => this.#write(path, line), close: () => this.#use(path, -1) };
  }

  named(): NamedLogFiles {
    return {
      write: (path, line) => {
        this.#assertWritable(path);
        this.#write(path, line);
      },
      close: () => undefined,
    };
  }

  #use(path: string, change: 1 | -1): void {
    this.#uses.set(path, (this.#uses.get(path) ?? 0) + change);
  }

  #write(path: string, line: string): void {
    const lines = this.#lines.get(path) ?? [];
    this.#lines.set(path, lines);
    lines.push(line);
  }

  #assertWritable(path: string): void {
    if (this.broken.includes(path)) throw new Error(`open() "${path}" failed (2: No such file or directory)`);
  }
}

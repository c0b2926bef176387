/** Changes of the past, for unit tests. */
import { ApiError } from '../core/contract/control.js';
import { ConfigurationHistory, type HistoryView, type Saved } from '../core/contract/history.js';

/** The transactions that the test gives it. */
export class FakeHistory extends ConfigurationHistory {
  /** Lines of {@link drift}, which a test may set. {@link save} empties them. */
  differences: readonly string[] = [];
  /** Versions that {@link rollback} was called with. */
  readonly rolledBack: number[] = [];
  readonly #entries: readonly HistoryView[];

  /** @param entries in any order; absent properties are those of an anonymous call without changes */
  constructor(entries: readonly (Partial<HistoryView> & Pick<HistoryView, 'version'>)[] = []) {
    super();
    const blank = { at: 0, node: 'node', origin: '0'.repeat(32), actor: 'anonymous', message: '', changes: [], diff: [] };
    this.#entries = entries.map((entry) => ({ ...blank, ...entry })).toSorted((one, other) => other.version - one.version);
  }

  drift(): readonly string[] {
    return this.differences;
  }

  save(): Promise<Saved> {
    const diff = this.differences;
    this.differences = [];
    return Promise.resolve({ version: this.#version, files: [], diff });
  }

  entries({ before = Infinity, limit }: { readonly before?: number; readonly limit: number }): readonly HistoryView[] {
    return this.#entries.filter(({ version }) => version < before).slice(0, limit);
  }

  async rollback(version: number): Promise<{ readonly version: number; readonly diff: readonly string[] }> {
    if (!this.#entries.some((entry) => entry.version === version))
      throw new ApiError(404, 'VersionNotFound', `version ${version} not found`);
    this.rolledBack.push(version);
    return Promise.resolve({ version: this.#version + 1, diff: [] });
  }

  get #version(): number {
    return this.#entries[0]?.version ?? 0;
  }
}

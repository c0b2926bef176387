import type { VariableMention } from '../config/variables.js';
import { HttpVariables } from '../http/site/variables.js';
import type { EngineName } from '../contract/spec.js';
import type { Getter, GetterFamily } from '../contract/template.js';
import { StreamVariables } from '../stream/site/variables.js';

/** The variables of one engine, whatever they are values of. */
interface DefinableVariables {
  define(name: string, getter: Getter<never>): void;
  definePrefix(prefix: string, make: GetterFamily<never>): void;
  mayDefine(name: string): boolean;
  readonly hasOrphans: boolean;
  begin(removed: Iterable<VariableMention> | undefined, added: Iterable<VariableMention>): void;
  bring(mention: VariableMention, name: string, getter: Getter<never>): void;
  bringInitial(id: number, name: string, getter: Getter<never>): void;
  commit(): void;
  abort(): void;
}

type EngineMention = VariableMention & { readonly engine: EngineName };

/** The variables of all traffic engines, which take effect with a configuration. */
export class EngineVariables {
  readonly http = new HttpVariables();
  readonly stream = new StreamVariables();

  of(engine: EngineName): DefinableVariables {
    // Getters of the one are never brought to the other.
    return this[engine] as unknown as DefinableVariables;
  }

  /** See {@link HttpVariables.begin}. */
  begin(removed: Iterable<EngineMention> | undefined, added: Iterable<EngineMention>): void {
    const [gone, come] = [removed && [...removed], [...added]];
    for (const name of ['http', 'stream'] as const) {
      const isOfEngine = ({ engine }: EngineMention): boolean => engine === name;
      this[name].begin(gone?.filter(isOfEngine), come.filter(isOfEngine));
    }
  }

  /** See {@link HttpVariables.hasOrphans}. */
  get hasOrphans(): boolean {
    return this.http.hasOrphans || this.stream.hasOrphans;
  }

  commit(): void {
    this.http.commit();
    this.stream.commit();
  }

  abort(): void {
    this.http.abort();
    this.stream.abort();
  }
}

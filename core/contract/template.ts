import { NamedFailure } from './thrown.js';

/** Values made of what a traffic engine serves: `R` is its kind of request, for HTTP that of `http.ts`. */

/** Text with variables, compiled once. */
export interface EngineTemplate<R> {
  /** As it is written in the configuration; absent: it was made by code. */
  readonly source?: string;
  /** The whole text when it holds no variable. */
  readonly constant: string | undefined;
  /** The text for this request. An unset variable is the empty string. */
  of(request: R): string;
}

/** A named value of a request (`$name`), lazily computed. `undefined` is "not found": empty in text, `-` in logs. */
export type Getter<R> = (request: R) => string | undefined;
/** The getter of a family of variables such as `$http_*`: called once with the rest of the name, as it is written, when a template is compiled. */
export type GetterFamily<R> = (rest: string) => Getter<R>;

/** A variable of a module has failed: the fault is that module's, not that of the one that asked for the value. */
export class VariableFailure extends NamedFailure {
  constructor(name: string, module: string, thrown: unknown) {
    super(`variable "${name}" of module "${module}"`, thrown);
  }
}

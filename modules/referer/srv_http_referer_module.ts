import { rest, size, text } from '../../core/contract/args.js';
import type { HttpHandlers, HttpRequest, Scope } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { ArgError, directive } from '../../core/contract/spec.js';
import type { Directive } from '../../core/contract/tree.js';
import { ValidReferers } from './valid-referers.js';

const SIZES = { in: ['server', 'location'], args: size(), doc: 'Accepted: tables grow as needed.' } as const;

const directives = {
  valid_referers: directive({
    in: ['server', 'location'],
    args: rest(text('none | blocked | server_names | string')),
    many: true,
    doc: 'Referers with which `$invalid_referer` is empty: host names and masks with the beginning of a path, regular expressions. With others it is 1.',
  }),
  referer_hash_max_size: directive(SIZES),
  referer_hash_bucket_size: directive(SIZES),
};

/** The lines that referers were compiled from. */
interface Known {
  readonly lines: readonly Directive[];
  readonly referers: ValidReferers;
}

/** Checks the field Referer of requests: `$invalid_referer` (ngx_http_referer_module). */
@httpModule({ name: 'srv_http_referer_module', api: 1, directives })
export class Referers {
  /** By the first line: a change elsewhere leaves it as it is. */
  readonly #known = new WeakMap<Directive, Known>();

  readonly variables = {
    invalid_referer: (request: HttpRequest): string => {
      const referers = this.#of(request.scope);
      return referers === undefined || referers.areValid(request.header('referer')) ? '' : '1';
    },
  };

  /** Nothing runs here, but errors are found. */
  compile(scope: Scope<typeof directives>): HttpHandlers | undefined {
    if (!scope.own('valid_referers')) return undefined;
    try {
      this.#of(scope);
    } catch (error) {
      if (error instanceof ArgError) scope.fail(error.message, 'valid_referers', error.hint);
      throw error;
    }
    return undefined;
  }

  #of(scope: Scope): ValidReferers | undefined {
    const own = scope.lines('valid_referers');
    const [first] = own;
    if (first === undefined) return undefined;
    const names = scope.lines('server_name');
    const lines = names.length === 0 ? own : [...own, ...names];
    const known = this.#known.get(first);
    if (known?.lines.length === lines.length && known.lines.every((line, at) => line === lines[at])) return known.referers;
    const referers = new ValidReferers(wordsOf(own), wordsOf(names));
    this.#known.set(first, { lines, referers });
    return referers;
  }
}

function wordsOf(lines: readonly Directive[]): string[] {
  return lines.flatMap(({ args }) => args.map((word) => word.text));
}

import { normalize } from 'node:path';
import type { HttpRequest, Scope, Template } from '../../core/contract/http.js';
import type { ServerInfo } from '../../core/contract/server-info.js';
import type { Directive } from '../../core/contract/tree.js';

/** Where the files of a scope are: `root`, or `alias`. */
export interface Root {
  /** Replacement of the prefix of a location; undefined: the whole path of the request follows (`root`). */
  readonly alias: Alias | undefined;
  readonly folder: Template;
}

interface Alias {
  /** The name of the location whose place the folder takes. Undefined: a regular expression chose it, and the folder is the whole path. */
  readonly location: string | undefined;
}

/** Finds the root of a scope. Roots are compiled once for each directive, so that a change elsewhere leaves them as they are. */
export class Roots {
  readonly #known = new WeakMap<Directive, Root>();
  #default: Root | undefined;

  constructor(private readonly info: ServerInfo) {}

  /** That of the innermost block around it with `root` or `alias`. */
  of(scope: Scope): Root {
    for (let place: Scope | undefined = scope; place !== undefined; place = place.parent) {
      const name = place.own('alias') ? 'alias' : 'root';
      const line = place.own(name) ? place.lines(name)[0] : undefined;
      if (line !== undefined) return this.#known.get(line) ?? this.#read(line, place);
    }
    return (this.#default ??= this.#constant('html'));
  }

  /** The folder, without a slash at the end where it is a `root` (`$document_root`). */
  folder(root: Root, request: HttpRequest): string {
    return root.folder.constant ?? this.#absolute(root.folder.of(request));
  }

  /** The path of the file that a request asks for (`$request_filename`). Undefined: an alias whose location a rewrite has left. */
  path(root: Root, request: HttpRequest, uri = request.uri): string | undefined {
    const folder = this.folder(root, request);
    if (root.alias === undefined) return folder + uri;
    const { location } = root.alias;
    if (location === undefined) return folder + this.#addedTo(root, request);
    return uri.startsWith(location) ? folder + uri.slice(location.length) : undefined;
  }

  /**
   * Path that try_files puts after the folder of a root. With an alias a text with variables may begin with the prefix that the alias replaces.
   */
  tried({ alias }: Root, request: HttpRequest, file: Template): string {
    const { constant } = file;
    if (constant !== undefined) return constant;
    const text = file.of(request);
    const location = alias?.location ?? '';
    return text.startsWith(location) ? text.slice(location.length) : text;
  }

  /** Makes a file that try_files has found the path of the request. @param file see {@link tried} */
  enter({ alias }: Root, request: HttpRequest, file: string, isFolder: boolean): void {
    if (alias !== undefined && alias.location === undefined) {
      // The alias is a path already, and a folder is what it names by itself.
      if (isFolder) return;
      request.set(this, { alias, file });
      if (file !== '') request.rewrite(file, request.args);
      return;
    }
    const uri = (alias?.location ?? '') + file;
    if (uri !== request.uri) request.rewrite(uri, request.args);
  }

  /** Path that try_files has put after the path of an alias in a location with a regular expression. */
  #addedTo({ alias }: Root, request: HttpRequest): string {
    const added = request.get(this) as { readonly alias: Alias; readonly file: string } | undefined;
    return added?.alias === alias && (added?.file === request.uri || added?.file === '') ? added.file : '';
  }

  #read(line: Directive, { args, directive }: Scope): Root {
    const template = args.template(line.args[0]?.text ?? '');
    const isRoot = line.name === 'root';
    // A later way up comes from a request.
    const constant = template.constant === undefined ? undefined : withoutWaysUp(this.#absolute(template.constant));
    const folder = isRoot ? constant?.replace(/\/$/, '') : constant;
    const root: Root = {
      alias: isRoot ? undefined : { location: directive && locationName(directive) },
      folder: folder === undefined ? template : { constant: folder, of: () => folder },
    };
    this.#known.set(line, root);
    return root;
  }

  #absolute(path: string): string {
    return path.startsWith('/') ? path : `${Buffer.from(this.info.prefix).latin1Slice()}/${path}`;
  }

  #constant(path: string): Root {
    const folder = this.#absolute(path);
    return { alias: undefined, folder: { constant: folder, of: () => folder } };
  }
}

const withoutWaysUp = (path: string): string => (path.includes('/..') ? normalize(path) : path);

/** The path that a location is for; undefined: it has a regular expression. */
function locationName({ args: [first, second] }: Directive): string | undefined {
  const [, modifier = '', glued = ''] = /^(=|~\*|\^~|~|)(.*)$/s.exec(first?.text ?? '') ?? [];
  if (modifier.startsWith('~')) return undefined;
  return Buffer.from(second?.text ?? glued).latin1Slice();
}

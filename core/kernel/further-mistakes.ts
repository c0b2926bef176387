/**
 * Mistakes that only show when a configuration is compiled (a location that stands twice, an address that cannot be listened on), found
 * in one that has simple mistakes as well: the directives with those are left out, and the rest is compiled.
 */
import { configErrorsOf, type ConfigError } from '../config/errors.js';
import type { Parsed } from '../config/parser.js';
import type { DirectiveData } from '../config/tree.js';
import type { Source } from '../module/tree.js';
import { compileAlone } from './compile-alone.js';
import { Instance, type InstanceOptions } from './instance.js';

/** @param found the mistakes that are known */
export async function furtherMistakes(
  { directives, garbled }: Parsed,
  found: readonly ConfigError[],
  options: InstanceOptions,
): Promise<readonly ConfigError[]> {
  const pruning = new Pruning(found, garbled);
  const block = pruning.sound(directives);
  try {
    await compileAlone(new Instance({ ...options, validates: false }), () => block);
    return [];
  } catch (error) {
    return (configErrorsOf(error) ?? []).filter((mistake) => !pruning.explains(mistake, block));
  }
}

/** Leaves out what has a known mistake, and remembers what else that may spoil. */
class Pruning {
  readonly #places: ReadonlySet<string>;
  /** Ids of directives that something in their block was left out of. */
  readonly #incomplete = new Set<number>();
  /** Names that what was left out may have given meaning to. */
  readonly #names = new Set<string>();

  constructor(
    found: readonly ConfigError[],
    private readonly garbled: ReadonlySet<number>,
  ) {
    this.#places = new Set(found.flatMap(({ source }) => (source ? [placeOf(source)] : [])));
  }

  sound(directives: readonly DirectiveData[], parent?: DirectiveData): readonly DirectiveData[] {
    return directives.flatMap((directive) => {
      if (!this.#isMistaken(directive))
        return directive.block ? [{ ...directive, block: this.sound(directive.block, directive) }] : [directive];
      if (parent) this.#incomplete.add(parent.id);
      // Nothing in a server or a location has a name that others use.
      if (parent?.name === 'server' || parent?.name === 'location') return [];
      this.#noteNames(directive);
      // An upstream that lacks a member may not come about at all.
      if (parent) this.#noteNames(parent);
      return [];
    });
  }

  /** True if the mistake may come from what was left out, and not from what is there. */
  explains({ source, message }: ConfigError, directives: readonly DirectiveData[]): boolean {
    if (!source) return true;
    const place = placeOf(source);
    const directive = find(directives, (candidate) => placesOf(candidate).includes(place));
    if (!directive) return true;
    // What is missing in a block is told at its name, what is wrong with an argument at the argument.
    if (this.#incomplete.has(directive.id) && placeOf(directive.source) === place) return true;
    return quotedIn(message).some((text) => namesIn(text).some((name) => this.#names.has(name)));
  }

  #noteNames({ args }: DirectiveData): void {
    for (const { text } of args) for (const name of namesIn(text)) this.#names.add(name);
  }

  #isMistaken(directive: DirectiveData): boolean {
    return this.garbled.has(directive.id) || placesOf(directive).some((place) => this.#places.has(place));
  }
}

/** Where the directive itself and its arguments are written. */
function placesOf({ source, args }: DirectiveData): string[] {
  return [placeOf(source), ...args.map(({ line, column }) => placeOf({ file: source.file, line, column }))];
}

function placeOf({ file, line, column }: Source): string {
  return `${line}:${column}:${file}`;
}

/** What a message names. */
function quotedIn(message: string): string[] {
  return Array.from(message.matchAll(/"([^"]*)"/g), ([, text = '']) => text);
}

/** The parts of a text that can name something: an upstream in a URL, a zone in a parameter. A path names nothing. */
function namesIn(text: string): string[] {
  if (text.startsWith('/')) return [];
  return text.split(/[=:/\s]+/).filter((part) => !/^(?:[\d.]*|https?|on|off)$/.test(part));
}

function find(directives: readonly DirectiveData[], wanted: (directive: DirectiveData) => boolean): DirectiveData | undefined {
  for (const directive of directives) {
    const found = wanted(directive) ? directive : find(directive.block ?? [], wanted);
    if (found) return found;
  }
  return undefined;
}

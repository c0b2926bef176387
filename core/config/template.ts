/** Text with variables: `$name`, `${name}`, `$1`. Parsed as nginx parses its complex values, compiled once. */
import { ArgError } from '../contract/spec.js';
import type { Getter, EngineTemplate } from '../contract/template.js';

/** Constant text, or a variable's name. */
export type TemplatePart = { readonly text: string } | { readonly variable: string };

/** The getter of a variable by its name without the dollar; undefined: there is no such variable. */
type Lookup<R> = (name: string) => Getter<R> | undefined;
/** Hint for an unknown variable. */
type HintFor = (name: string) => string | undefined;

const noHint: HintFor = () => undefined;

const PART = /\$(?:(?<capture>[1-9])|\{(?<braced>\w*)(?<closed>\}?)|(?<plain>\w*))|(?<text>[^$]+)/gy;

/**
 * Splits a text. Neighbouring constant parts do not occur; an empty text has no parts.
 * @throws ArgError for a `$` without a name, and for a `${` that is not closed
 */
export function parseTemplate(source: string): TemplatePart[] {
  if (!source.includes('$')) return source === '' ? [] : [{ text: source }];
  const parts: TemplatePart[] = [];
  for (const { groups = {} } of source.matchAll(PART)) {
    const { text, capture, braced, closed, plain } = groups;
    if (text !== undefined) {
      parts.push({ text });
      continue;
    }
    if (closed === '' && braced !== '') throw new ArgError(`the closing bracket in "${braced}" variable is missing`);
    const variable = capture ?? braced ?? plain ?? '';
    if (variable === '') throw new ArgError('invalid variable name', 'a variable is written $name or ${name}');
    parts.push({ variable });
  }
  return parts;
}

/**
 * The pieces of a text: constants, and the getters of its variables.
 * @throws ArgError as {@link compileTemplate}
 */
export function templateParts<R>(source: string, lookup: Lookup<R>, hintFor: HintFor = noHint): (string | Getter<R>)[] {
  const unknown = new Set<string>();
  const parts = parseTemplate(source).map((part) => {
    if ('text' in part) return part.text;
    const getter = lookup(part.variable);
    if (getter === undefined) unknown.add(part.variable.toLowerCase());
    return getter ?? '';
  });
  const [first, ...others] = unknown;
  if (first === undefined) return parts;
  throw new ArgError(
    unknownVariable(first),
    hintFor(first),
    others.map((name) => new ArgError(unknownVariable(name), hintFor(name))),
  );
}

const unknownVariable = (name: string): string => `unknown "${name}" variable`;

/**
 * Compiles a text for use with many requests.
 * @throws ArgError for unknown variables and for what {@link parseTemplate} rejects
 */
export function compileTemplate<R>(source: string, lookup: Lookup<R>, hintFor?: HintFor): EngineTemplate<R> {
  if (!source.includes('$')) return new ConstantTemplate(source, source);
  const texts = [''];
  const getters: Getter<R>[] = [];
  for (const part of templateParts(source, lookup, hintFor)) {
    if (typeof part === 'string') texts[texts.length - 1] += part;
    else {
      getters.push(part);
      texts.push('');
    }
  }
  const [before = '', between = '', after = ''] = texts;
  const [first, second, third] = getters;
  if (first === undefined) return new ConstantTemplate(source, before);
  if (second === undefined) return new OneVariable(source, before, first, between);
  return third === undefined ? new TwoVariables(source, before, first, between, second, after) : new ManyVariables(source, texts, getters);
}

class ConstantTemplate implements EngineTemplate<unknown> {
  constructor(
    readonly source: string,
    readonly constant: string,
  ) {}

  of(): string {
    return this.constant;
  }
}

class OneVariable<R> implements EngineTemplate<R> {
  readonly constant = undefined;

  constructor(
    readonly source: string,
    private readonly before: string,
    private readonly getter: Getter<R>,
    private readonly after: string,
  ) {}

  of(request: R): string {
    return this.before + (this.getter(request) ?? '') + this.after;
  }
}

class TwoVariables<R> implements EngineTemplate<R> {
  readonly constant = undefined;

  constructor(
    readonly source: string,
    private readonly before: string,
    private readonly first: Getter<R>,
    private readonly between: string,
    private readonly second: Getter<R>,
    private readonly after: string,
  ) {}

  of(request: R): string {
    return this.before + (this.first(request) ?? '') + this.between + (this.second(request) ?? '') + this.after;
  }
}

class ManyVariables<R> implements EngineTemplate<R> {
  readonly constant = undefined;

  constructor(
    readonly source: string,
    /** One more than there are variables. */
    private readonly texts: readonly string[],
    private readonly getters: readonly Getter<R>[],
  ) {}

  of(request: R): string {
    let result = this.texts[0] ?? '';
    for (let i = 0; i < this.getters.length; i++) result += (this.getters[i]?.(request) ?? '') + (this.texts[i + 1] ?? '');
    return result;
  }
}

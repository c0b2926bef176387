/** Paths of files with variables, whose values clients may choose. */
import { template } from './args.js';
import type { HttpRequest } from './http.js';
import type { ArgType } from './spec.js';
import type { EngineTemplate } from './template.js';

/**
 * The path of a file or folder with variables. Who uses it makes sure that values do not lead out of
 * the folder in front of the first of them: see {@link leavesFolder}.
 * @param under where relative paths are
 */
export function pathTemplate<R = HttpRequest>(form: string, under: 'prefix' | 'conf' = 'prefix'): ArgType<EngineTemplate<R>, string> {
  const text = template<R>(form);
  return {
    ...text,
    parse(value, context) {
      if (value !== 'off') context.names?.(value, under);
      return text.parse(value, context);
    },
  };
}

/**
 * True if values of variables lead out of the folder that a path begins with.
 * @param path the value of the template, absolute and without `..`
 * @param absolute makes a path absolute, as that was made
 */
export function leavesFolder<R>({ source = '' }: EngineTemplate<R>, path: string, absolute: (text: string) => string): boolean {
  const folder = source.slice(0, source.lastIndexOf('/', source.indexOf('$')) + 1);
  return source.includes('$') && folder !== '' && !path.startsWith(`${absolute(folder).replace(/\/$/, '')}/`);
}

/** Makes a chunk of the bundle a script, whose compiled code core/kernel/code-cache.ts keeps, and a module in its place that runs it. */
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

const CODE_CACHE = 'core/kernel/code-cache.js';
const STATIC_IMPORT = /import\{([^{}]*)\}from(["'][^"']+["']);/gy;
const EXPORTS = /export\{([^{}]*)\};?\s*\/\/# sourceMappingURL=\S+\s*$/;
/** Expressions that only modules have, and names of the same length: columns of the source map stay. */
const OF_MODULES = [
  ['import.meta', '$thisModule'],
  ['import(', 'load__('],
] as const;

/**
 * @param bundle its folder
 * @param chunk path of the chunk in it; it imports nothing that imports it
 */
export function makeScript(bundle: string, chunk: string): void {
  const file = join(bundle, chunk);
  const script = file.replace(/\.js$/, '.code.js');
  const text = readFileSync(file, 'utf8');
  const exported = EXPORTS.exec(text);
  if (exported === null) throw new Error(`${chunk} has no exports at its end`);
  const imported: string[] = [];
  let body = text.slice(0, exported.index).replaceAll(STATIC_IMPORT, (all, names: string, from: string) => {
    const constant = `const{${names.replaceAll(' as ', ':')}}=given__[${imported.push(from) - 1}];`;
    return constant.padEnd(all.length);
  });
  for (const [expression, name] of OF_MODULES) body = body.replaceAll(expression, name);
  const names = (exported[1] ?? '').split(',').map((pair) => pair.split(' as '));
  const results = names.map(([local = '', name = local]) => `${name}:${local}`);
  // The body begins on the second line, and so does its map.
  const code = `(function(given__,$thisModule,load__){"use strict";\n${body}\nreturn{${results.join(',')}}})\n`;
  writeFileSync(script, code);
  const map = JSON.parse(readFileSync(`${file}.map`, 'utf8')) as { readonly mappings: string };
  writeFileSync(`${script}.map`, JSON.stringify({ ...map, mappings: `;${map.mappings}` }));
  rmSync(`${file}.map`);
  const hash = createHash('sha256').update(code).digest('hex').slice(0, 16);
  const exports = names.map(([local = '', name = local]) => name);
  writeFileSync(
    file,
    facade({ script: basename(script), hash, cache: relative(dirname(file), join(bundle, CODE_CACHE)), imported, exports }),
  );
}

interface Facade {
  /** File name of the script. */
  readonly script: string;
  readonly hash: string;
  /** Path of core/kernel/code-cache.js. */
  readonly cache: string;
  /** Modules that the script uses, as string literals. */
  readonly imported: readonly string[];
  readonly exports: readonly string[];
}

function facade({ script, hash, cache, imported, exports }: Facade): string {
  const modules = imported.map((_, i) => `m${i}`);
  return [
    ...imported.map((from, i) => `import*as m${i} from${from};`),
    `import{runScript}from"${cache}";`,
    `const script={path:import.meta.dirname+"/${script}",hash:"${hash}"};`,
    `const{${exports.map((name, i) => `${name}:e${i}`).join(',')}}=runScript(script,[[${modules.join(',')}],import.meta,(file)=>import(file)]);`,
    `export{${exports.map((name, i) => `e${i} as ${name}`).join(',')}};`,
  ].join('\n');
}

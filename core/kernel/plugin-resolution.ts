/**
 * Importing this file makes `srv/module/*.js` and `srv/toolkit/*.js` mean the running program's own contract in this thread, wherever the importing module
 * is, and retains the code of modules ({@link moduleCode}). Services are found by the identity of their abstract class: a plugin that brought a second copy of them along would ask for
 * services that are not registered.
 */
import { existsSync, globSync } from 'node:fs';
import { registerHooks, setSourceMapsSupport } from 'node:module';
import { pathToFileURL } from 'node:url';
import { join, resolve } from 'node:path';
import type { LoadedFile } from '../config/module-share.js';
import { nearest } from '../contract/suggest.js';
import { moduleCode, versionOfUrl } from './module-code.js';

/** Prefixes of names of the contract, and the folders of the program that they mean. */
const CONTRACT: readonly (readonly [prefix: string, folder: string])[] = [
  ['srv/module/', resolve(import.meta.dirname, '../contract')],
  ['srv/toolkit/', resolve(import.meta.dirname, '../toolkit')],
];
const NAME = /^(?:[\w-]+\/)?[\w-]+\.js$/;

registerHooks({
  resolve(specifier, context, nextResolve) {
    const part = CONTRACT.find(([prefix]) => specifier.startsWith(prefix));
    if (part === undefined) {
      const { parentURL, conditions } = context;
      const imported = conditions.includes('require') ? undefined : specifier;
      const known = imported === undefined ? undefined : moduleCode.resolved(imported, parentURL);
      if (known !== undefined) return { url: known, shortCircuit: true };
      const resolved = nextResolve(specifier, context);
      if (parentURL === undefined) return resolved;
      return { ...resolved, url: moduleCode.addImport(resolved.format === 'commonjs' ? undefined : imported, resolved.url, parentURL) };
    }
    const [prefix, folder] = part;
    const file = specifier.slice(prefix.length);
    if (!NAME.test(file) || !existsSync(join(folder, file))) {
      const other = NAME.test(file) ? CONTRACT.find((one) => existsSync(join(one[1], file))) : undefined;
      if (other !== undefined) throw new Error(`"${specifier}" is not part of the module contract: import "${other[0]}${file}"`);
      const names = globSync('**/*.js', { cwd: folder }).toSorted();
      const meant = nearest(file, names, file.length > 'object.js'.length ? 2 : 1);
      const has = meant === undefined ? `, which has: ${names.join(', ')}` : `: did you mean "${prefix}${meant}"?`;
      throw new Error(`"${specifier}" is not part of the module contract${has}`);
    }
    return { url: pathToFileURL(join(folder, file)).href, shortCircuit: true };
  },
  load(url, context, nextLoad) {
    const known = moduleCode.find(url);
    if (known !== undefined) return { format: known.format, source: named(url, known), shortCircuit: true };
    const loaded = nextLoad(url, context);
    const { format, source } = loaded;
    if (source !== undefined && source !== null && typeof format === 'string') moduleCode.add(url, format, source);
    const added = moduleCode.find(url);
    return added === undefined ? loaded : { ...loaded, source: named(url, added) };
  },
});

/** The source of a file; that of a later version names its file, which stacks would name with the version. */
function named(url: string, { format, source }: LoadedFile): Buffer {
  const bytes = Buffer.from(source);
  if (versionOfUrl(url) === 0 || format !== 'module' || bytes.includes('sourceMappingURL=')) return bytes;
  return Buffer.concat([bytes, Buffer.from(`\n//# sourceURL=${url.slice(0, url.lastIndexOf('?'))}\n`)]);
}

// Stacks name the lines of what was compiled (TypeScript, a bundle), where the file that was loaded has a map.
setSourceMapsSupport(true, { nodeModules: true, generatedCode: true });

/**
 * Importing this file makes `srv/module/*.js` mean the running program's own contract in this thread, wherever the importing module
 * lies, and retains the code of modules ({@link moduleCode}). Services are found by the identity of their abstract class: a plugin that brought a second copy of them along would ask for
 * services nobody has registered.
 */
import { existsSync, readdirSync } from 'node:fs';
import { registerHooks, setSourceMapsSupport } from 'node:module';
import { pathToFileURL } from 'node:url';
import { join, resolve } from 'node:path';
import { moduleCode } from './module-code.js';

const CONTRACT = 'srv/module/';
const CONTRACT_FOLDER = resolve(import.meta.dirname, '../module');

const contractFiles = (): string[] => readdirSync(CONTRACT_FOLDER).filter((file) => file.endsWith('.js'));

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!specifier.startsWith(CONTRACT)) {
      const resolved = nextResolve(specifier, context);
      moduleCode.addImport(resolved.url, context.parentURL);
      return resolved;
    }
    const file = specifier.slice(CONTRACT.length);
    if (!/^[\w-]+\.js$/.test(file) || !existsSync(join(CONTRACT_FOLDER, file)))
      throw new Error(`"${specifier}" is not part of the module contract, which has: ${contractFiles().join(', ')}`);
    return { url: pathToFileURL(join(CONTRACT_FOLDER, file)).href, shortCircuit: true };
  },
  load(url, context, nextLoad) {
    const known = moduleCode.find(url);
    if (known !== undefined) return { format: known.format, source: Buffer.from(known.source), shortCircuit: true };
    const loaded = nextLoad(url, context);
    const { format, source } = loaded;
    if (source !== undefined && source !== null && typeof format === 'string') moduleCode.add(url, format, source);
    return loaded;
  },
});

// Stacks name the lines of what was compiled (TypeScript, a bundle), where the file that was loaded has a map.
setSourceMapsSupport(true);

/**
 * Importing this file makes `srv/module/*.js` mean the running program's own contract in this thread, wherever the importing module
 * lies. Services are found by the identity of their abstract class: a plugin that brought a second copy of them along would ask for
 * services nobody has registered.
 */
import { registerHooks, setSourceMapsSupport } from 'node:module';
import { pathToFileURL } from 'node:url';
import { join, resolve } from 'node:path';

const CONTRACT = 'srv/module/';
const CONTRACT_FOLDER = resolve(import.meta.dirname, '../module');

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!specifier.startsWith(CONTRACT)) return nextResolve(specifier, context);
    const file = specifier.slice(CONTRACT.length);
    if (!/^[\w-]+\.js$/.test(file)) throw new Error(`"${specifier}" is not part of the module contract`);
    return { url: pathToFileURL(join(CONTRACT_FOLDER, file)).href, shortCircuit: true };
  },
});

// Stacks name the lines of what was compiled (TypeScript, a bundle), where the file that was loaded has a map.
setSourceMapsSupport(true);

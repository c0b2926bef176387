/** Entry of a worker thread. It loads nothing at once: a stack names lines of the sources only if maps were in use when a file was loaded. */
import { setSourceMapsSupport } from 'node:module';

// Not an option of the thread: with `execArgv` of its own a thread rejects the options of V8 that its process may have been started with.
setSourceMapsSupport(true, { nodeModules: true, generatedCode: true });
await import('./serve.js');

import { plugin } from '../harness/plugins.js';

/** The configuration of a server, with and without the module. */
export const conf = (more: string, location = ''): string => `
worker_processes 4;
error_log logs/error.log notice;
${more}
events {}
http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${location} return 200 "fine"; } } }`;

/** A module with code in one of its steps that runs in one kind of thread only. */
export const hostile = (step: string, role: string, code: string): string =>
  plugin('hostile', {
    imports: `import { ServerInfo } from 'srv/module/server-info.js';`,
    manifest: `directives: { hostile: directive({ in: ['location'], args: text() }) }`,
    body: `
      static services = [ServerInfo];
      constructor(info) { this.info = info; }
      ${step}(scope) {
        if (this.info.role !== '${role}') return;
        if (${step !== 'compile'} || scope.conf.hostile !== undefined) { ${code} }
      }`,
  });

/** Hangs as a loop does, and leaves the processor to others. */
export const WAIT = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';
/** An endless loop of JavaScript that rests in each turn. */
export const LOOP = 'for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);';

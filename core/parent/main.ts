/** Entry of the parent of a server in the background. The command that starts it sends what to run, and hears how it goes. */
import { Parent } from './parent.js';
import type { ParentStart } from './protocol.js';

process.once('message', (start: ParentStart) => {
  const parent = new Parent(start, {
    // The command waits for one start. A server that is started again writes to its log.
    say: (text) => void (process.connected && process.send?.({ say: text })),
    ready: () => process.connected && process.send?.({ ready: true }, () => process.disconnect?.()),
    ended: (code) => process.exit(code),
  });
  parent.run();
});

/** Entry of the parent of a server in the background. The command that starts it sends what to run, and hears how it goes. */
import { Parent } from './parent.js';
import type { ParentStart } from './protocol.js';

process.once('message', (start: ParentStart) => {
  const parent = new Parent(start, {
    say: (text) => void process.send?.({ say: text }),
    ready: () => process.send?.({ ready: true }, () => process.disconnect?.()),
    ended: (code) => process.exit(code),
  });
  parent.run();
});

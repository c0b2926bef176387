/** `use epoll` is possible here: tests of it run. */
export const hasEpoll = process.platform === 'linux' && process.versions.node.startsWith('26.');

/** Servers under test use it where their configuration says nothing (see `placeholders.ts`). */
export const usesEpoll = hasEpoll && process.env['SRV_TEST_USE'] !== 'node';

#!/usr/bin/env node
/**
 * The command. This file loads nothing but what every version of Node that knows modules can load, so that one which is too old gets a
 * clear answer instead of a syntax error somewhere inside.
 */
import process from 'node:process';

const OLDEST_NODE = 24;

const [major = '0'] = process.versions.node.split('.');
if (Number(major) < OLDEST_NODE) {
  process.stderr.write(
    `srv: [emerg] Node.js ${OLDEST_NODE} or later is needed, this is ${process.versions.node} (${process.execPath})\n` +
      'srv: "npm start" in the installation uses the Node.js that "npm install" brings along\n',
  );
  process.exitCode = 1;
} else {
  const { default: main } = await import('./main.js');
  await main(process.argv.slice(2));
}

#!/usr/bin/env node
/** The command-line client of the API. It talks HTTP, and needs no srv on its machine. */
import { bundle, isBundled } from '../kernel/bundle.js';

// A stack names lines of the sources. A map is read when a stack is printed.
process.setSourceMapsEnabled(true);
const PROGRAM = 'core/ctl/program.js';
await import(isBundled(PROGRAM) ? bundle(PROGRAM).href : './program.js');

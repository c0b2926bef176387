import type { RequestFlow } from '../request/client-stream.js';
import { sendWhole } from '../response/response.js';
import { respondWithStatus } from './error-response.js';
import { enterLocation, enterNamedLocation } from './phase-runner.js';

/** The phases as the rooms below see them. */
export const requestFlow: RequestFlow = { reject: respondWithStatus, send: sendWhole, enterLocation, enterNamedLocation };

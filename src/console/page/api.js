// Requests to the server. An answer that is not 2xx, and a network that fails, become an ApiError.

import {notify} from './bus.js';

export class ApiError extends Error {
  // `network` is true if there was no answer at all.
  constructor(message, {code = '', status = 0, network = false, cause} = {}) {
    super(message, {cause});
    this.code = code;
    this.status = status;
    this.network = network;
  }
}

export async function request(method, path, body) {
  const options = {method, headers: {Accept: 'application/json'}, credentials: 'same-origin'};
  if (body !== undefined) {
    options.headers['Content-Type'] = 'application/json';
    options.body = JSON.stringify(body);
  }
  let response;
  let answer = null;
  try {
    response = await fetch(path, options);
    answer = await response.json().catch((error) => {
      if (error instanceof SyntaxError) return null;
      throw error;
    });
  } catch (error) {
    throw new ApiError(error.message, {network: true, cause: error});
  }
  if (response.ok) return answer ?? {};
  if (response.status === 401 && path !== 'login') notify('login');
  const code = typeof answer?.error === 'string' ? answer.error : '';
  throw new ApiError(answer?.message || code || 'HTTP ' + response.status, {code, status: response.status});
}

export const get = (path) => request('GET', path);
export const post = (path, body = {}) => request('POST', path, body);

export const agentPath = (id) => 'api/agent/' + encodeURIComponent(id);

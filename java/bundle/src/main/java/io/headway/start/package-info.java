/** Headway in one jar: the command line and the agent with what unpacks and starts them. */
package io.headway.start;

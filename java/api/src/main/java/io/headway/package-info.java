/** What an application can tell Headway about itself. */
package io.headway;

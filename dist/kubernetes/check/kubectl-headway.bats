#!/usr/bin/env bats
# The plugin against a kubectl that writes down what it is asked and answers like a cluster.

setup() {
  folder=$(mktemp -d)
  export ASKED=$folder/asked PIDS="/proc/7/comm" HEADWAY_PATIENCE=2 USER_OF_CONTAINER=10001 RECORD_FAILS=
  mkdir "$folder/bin"
  cat >"$folder/bin/kubectl" <<'KUBECTL'
#!/bin/sh
printf '%s\n' "$*" | head -n 1 >>"$ASKED"
case "$*" in
  *"get pod absent"*) echo "not found" >&2; exit 1 ;;
  *ephemeralContainerStatuses*) [ -n "${NEVER_STARTS:-}" ] || echo 2026-01-01T00:00:00Z ;;
  *"containers[0].name"*) echo shop ;;
  *"containers[?"*runAsUser*) echo "$USER_OF_CONTAINER" ;;
  *runAsUser*) ;;
  *debug*)
    while [ "$1" != --custom ]; do shift; done
    cp "$2" "$ASKED.profile"
    ;;
  *"grep -lx java"*) printf '%s\n' $PIDS ;;
  *"headway record"*) [ -z "$RECORD_FAILS" ] || exit 3; echo "FINDINGS" ;;
  *"cat /tmp/headway.jfr"*) echo recording ;;
esac
KUBECTL
  chmod +x "$folder/bin/kubectl"
  PATH=$folder/bin:$PATH
  plugin=$BATS_TEST_DIRNAME/../kubectl-headway
  cd "$folder"
}

teardown() {
  rm -rf "$folder"
}

@test "records the only JVM as the target's user and fetches the recording" {
  run "$plugin" shop-1 -n store -o a.jfr -- -d 10s -e lock
  [ "$status" -eq 0 ]
  [ "${lines[0]}" = FINDINGS ]
  [ "$(cat a.jfr)" = recording ]
  grep -q '"runAsUser": 10001, "runAsNonRoot": true, "allowPrivilegeEscalation": false' asked.profile
  grep -q '"drop": \["ALL"\]' asked.profile
  grep -Eq -- '^--namespace store debug pod/shop-1 .*--image headway:0.2.0 --target shop --container headway-[0-9]+ -- sh -c' asked
  grep -Eq -- '^--namespace store exec shop-1 --container headway-[0-9]+ -- headway record -d 10s -e lock -o /tmp/headway.jfr 7$' asked
  [ "$(tail -n 1 asked | grep -c 'touch /tmp/headway.done')" -eq 1 ]
}

@test "asks for nothing that has privileges" {
  run "$plugin" shop-1 -o a.jfr
  [ "$status" -eq 0 ]
  ! grep -Eiq 'privileged|sysadmin|hostPath|SYS_PTRACE' asked asked.profile
}

@test "several JVMs, and none, are said, and the container ends" {
  PIDS="/proc/7/comm /proc/9/comm" run "$plugin" shop-1 -o a.jfr
  [ "$status" -eq 1 ]
  [ "$output" = "kubectl headway: container shop runs several JVMs (7 9): name one with -p" ]
  tail -n 1 asked | grep -q 'touch /tmp/headway.done'
  PIDS="" run "$plugin" shop-1 -o a.jfr
  [ "$output" = "kubectl headway: container shop runs no process called java: name it with -p" ]
  run "$plugin" shop-1 -p 9 -o a.jfr
  [ "$status" -eq 0 ]
  grep -q -- '-o /tmp/headway.jfr 9$' asked
}

@test "an unknown user is asked for, a number is used" {
  USER_OF_CONTAINER="" run "$plugin" shop-1 -o a.jfr
  [ "$status" -eq 1 ]
  [[ "$output" == *"name its number with -u" ]]
  ! grep -q debug asked
  USER_OF_CONTAINER="" run "$plugin" shop-1 -u 0 -o a.jfr
  [ "$status" -eq 0 ]
  grep -q '"runAsUser": 0, "runAsNonRoot": false' asked.profile
}

@test "a failed recording fetches nothing" {
  RECORD_FAILS=yes run "$plugin" shop-1 -o a.jfr
  [ "$status" -eq 1 ]
  [ ! -e a.jfr ]
  tail -n 1 asked | grep -q 'touch /tmp/headway.done'
}

@test "a container that does not start is said" {
  NEVER_STARTS=yes run "$plugin" shop-1 -o a.jfr
  [ "$status" -eq 1 ]
  [[ "$output" == *"does not start in pod shop-1: see kubectl describe pod shop-1" ]]
}

@test "what is typed wrongly is refused before anything is asked" {
  for words in "" "shop-1 --namespce x" "shop-1 -n" "shop-1 other" "shop-1 -u root" "shop-1 -p x"; do
    # shellcheck disable=SC2086
    run "$plugin" $words
    [ "$status" -eq 2 ]
  done
  touch there.jfr
  run "$plugin" shop-1 -o there.jfr
  [ "$status" -eq 1 ]
  [ ! -e asked ]
  run "$plugin" absent -o a.jfr
  [ "${lines[1]}" = "kubectl headway: there is no pod absent" ]
}

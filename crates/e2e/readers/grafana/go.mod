module headway/readers/grafana

go 1.18

require github.com/grafana/jfr-parser v0.9.0
